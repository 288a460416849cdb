#!/bin/sh
# execsrvctl run: a lost connection is 125, with all that came before it; what a
# server that stops does to the command comes before that.
. "${0%/*}/lib.sh"

start_run() {
	rm -f "$DIR/run.out" "$DIR/run.err"
	# shellcheck disable=SC2086
	"$CTL" run --patience 2 ${how-} -- sh -c 'seq 100000; exec sleep 1000' >"$DIR/run.out" \
	    2>"$DIR/run.err" </dev/null &
	run=$!
	at_exit "kill -KILL $run 2>/dev/null"
	wait_for 10 has_line "$DIR/run.out" '^100000$' || fail "no output"
	wait_for 10 rows_are "[s for s in d if s['state'] == 'attached' and
	    s['running'] == 1]" sessions || fail "no session"
	worker=$(json "$DIR/out" "[s['worker'] for s in d
	    if s['state'] == 'attached'][-1]")
	wait_for 10 rows_are "[p for p in d if p['state'] == 'running']" ps ||
	    fail "no process"
	pid=$(json "$DIR/out" "max(d, key=lambda p: p['session'])['pid']")
}

# end_run WHY STATUS LINES: lines of the reason.
end_run() {
	wait_for 10 is_gone "$run" || fail "$1: run waits"
	code=0
	wait "$run" || code=$?
	same "$1: status" "$code" "$2"
	same "$1: lines of the reason" "$(wc -l <"$DIR/run.err")" "$3"
	has_line "$DIR/run.err" '^execsrvctl: .*(lost|closed|is stopping)' ||
	    fail "$1: $(cat "$DIR/run.err")"
	seq 100000 | cmp - "$DIR/run.out" || fail "$1: output is lost"
	wait_for 10 is_gone "$pid" || fail "$1: the command lives"
}

start_server
start_run
kill -KILL "$worker"
end_run "the worker died" 125 1

# One that is given up is told how to come back to.
how="--silence 1 --patience 1"
start_run
kill -STOP "$worker"
wait_for 20 is_gone "$run" || fail "run waits for a server that stands still"
kill -CONT "$worker"
wait "$run"
same "status" $? 125
session=$(sed -n "s|.*\"execsrvctl attach -u $URL \([0-9a-f-]*\)\".*|\1|p" \
    "$DIR/run.err")
[ -n "$session" ] || fail "no word of the session: $(cat "$DIR/run.err")"
"$CTL" attach --take -u "$URL" "$session" >"$DIR/again" 2>&1 &
attached=$!
wait_for 20 has_line "$DIR/again" '^100000$' || fail "not attached"
kill -TERM "$attached"
wait "$attached"
same "status when attached" $? 143
how=

start_run
stop_server
end_run "the server stopped" 143 1

# It knows nothing of servers that cannot be reached.
expect 125 timeout $((60 * SCALE)) "$CTL" run --url "$URL" -- true
same "lines of the reason" "$(wc -l <"$DIR/err")" 1
