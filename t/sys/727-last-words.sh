#!/bin/sh
# What a command says when its session is ended, and how it ends, still comes.
. "${0%/*}/lib.sh"

SCRIPT='trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.1; done'

# last_words WHY COMMAND...: what ends the session.
last_words() {
	why=$1
	shift
	"$CTL" run --url "$URL" -- sh -c "$SCRIPT" >"$DIR/said" 2>"$DIR/run.err" &
	run=$!
	at_exit "kill -KILL $run 2>/dev/null"
	wait_for 10 has_line "$DIR/said" up || fail "it does not start"
	wait_for 10 status_is attached 1 || fail "no session"
	"$@" >"$DIR/out" || fail "status $?: $*"
	wait_for 10 is_gone "$run" || fail "run goes on"
	code=0
	wait "$run" || code=$?
	same "what it said after $*" "$(cat "$DIR/said" "$DIR/run.err" | grep -v Terminated)" "up
bye
execsrvctl: the server ends the session: $why"
	same "its status after $*" "$code" 3
}

start_server -o TerminateGrace=10s
last_words "killed by an operator" "$CTL" kill 1
wait_for 10 status_is attached 0 || fail "still attached"
last_words "the server is stopping" stop_server

# Nothing new is begun then, and what does not end in time is killed.
start_server -o TerminateGrace=2s
cat >"$DIR/ending.py" <<'END'
import sys
from client import RpcError, check, connect, LIMIT

def ending():
    c = connect(sys.argv[-1])
    c.start("p", "sh", "-c", "trap 'echo told' TERM; echo up; "
            "while :; do sleep 0.1; done")
    c.note("process/output", "p")
    print("up", flush=True)
    c.note("process/output", "p")
    try:
        c.start("q", "true")
        check(False, "it starts")
    except RpcError as e:
        check("the session is ending" in str(e), str(e))
    check(c.note("process/exited", "p")["exitCode"] == 137, "its status")
    check(c.wait_closed(LIMIT), "it stays open")

ending()
END
PYTHONPATH=${0%/*} python3 "$DIR/ending.py" "$URL" >"$DIR/up" 2>&1 &
client=$!
at_exit "kill -KILL $client 2>/dev/null"
wait_for 20 has_line "$DIR/up" up || fail "no client: $(cat "$DIR/up")"
wait_for 10 status_is attached 1 || fail "no session"
expect 0 "$CTL" kill 1
wait_for 20 is_gone "$client" || fail "the client waits"
wait "$client" || fail "the client: $(cat "$DIR/up")"
stop_server
