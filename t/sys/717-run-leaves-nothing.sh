#!/bin/sh
# execsrvctl run closes its session: nothing of it is left, however it ended.
. "${0%/*}/lib.sh"

# A session that nobody closes would stay all the time of this test.
start_server -o DetachedTtl=10m

no_sessions() {
	"$CTL" --json sessions >"$DIR/sessions" &&
	    [ "$(json "$DIR/sessions" "len(d)")" -eq 0 ]
}

closed() {
	wait_for 2 no_sessions || fail "$1: $(cat "$DIR/sessions")"
}

expect 0 "$CTL" run true
closed "a command that ended"
expect 127 "$CTL" run /no/such/program
closed "a command that never ran"
expect 125 "$CTL" run --cwd /no/such/folder true
closed "no folder"

# What the command left behind ends as well.
# shellcheck disable=SC2016
expect 0 "$CTL" run -- sh -c 'sleep 600 <&- >&- 2>&- & echo $!'
left=$(cat "$DIR/out")
closed "a process left behind"
wait_for 2 is_gone "$left" || fail "the process left behind runs on"

# Ended by a signal, and by a reader that left.
"$CTL" run -- sh -c 'echo ready; exec sleep 600' >"$DIR/ready" &
run=$!
wait_for 5 has_line "$DIR/ready" ready || fail "it does not start"
kill -TERM "$run"
code=0
wait "$run" || code=$?
same "the status after a signal" "$code" 143
closed "a signal"
"$CTL" run -- sh -c 'while echo line; do :; done' 2>"$DIR/err" | head -n 1 \
    >"$DIR/out"
same "the first line" "$(cat "$DIR/out")" line
closed "a reader that left"
same "sessions that had to expire" "$(status_of expired)" 0
