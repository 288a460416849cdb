#!/bin/sh
# MaxSessionTime and IdleTimeout end sessions, for whom a Match block says so,
# and clients are told why.
. "${0%/*}/lib.sh"

cat >"$DIR/conf" <<END
TerminateGrace 100ms
Match Listener unix:$DIR/short
	MaxSessionTime 2
Match Listener unix:$DIR/idle
	IdleTimeout 3
END
start_server -f "$DIR/conf" --listen "unix:$DIR/any" \
    --listen "unix:$DIR/short" --listen "unix:$DIR/idle"

# Nothing is taken away where nothing says so, also from one that sleeps.
"$CTL" run --url "unix:$DIR/any" -- sh -c 'echo here; exec sleep 1000' \
    >"$DIR/any.out" 2>&1 &
any=$!
at_exit "kill -KILL $any 2>/dev/null"
wait_for 20 has_line "$DIR/any.out" here || fail "no session"

# However busy it is.
code=0
"$CTL" run --patience 0 --url "unix:$DIR/short" -- \
    sh -c 'while :; do echo busy; sleep 0.1; done' \
    >"$DIR/short.out" 2>"$DIR/short.err" || code=$?
[ "$code" -ne 0 ] || fail "it has ended by itself"
wait_for 20 has_line "$SERVER_LOG" 'session [0-9]+: ended: it has reached MaxSessionTime;' ||
    fail "not in the log"
has_line "$DIR/short.err" 'MaxSessionTime' ||
    fail "its client is not told: $(cat "$DIR/short.err")"
[ "$(wc -l <"$DIR/short.out")" -ge 2 ] || fail "it was not busy"

# One that is idle ends; output, or what its client says, keeps one.
"$CTL" run --url "unix:$DIR/idle" -- \
    sh -c 'while :; do echo busy; sleep 0.1; done' >"$DIR/busy.out" 2>&1 &
busy=$!
at_exit "kill -KILL $busy 2>/dev/null"
wait_for 20 has_line "$DIR/busy.out" busy || fail "no session"
code=0
"$CTL" run --patience 0 --url "unix:$DIR/idle" -- sleep 1000 \
    >"$DIR/idle.out" 2>"$DIR/idle.err" || code=$?
[ "$code" -ne 0 ] || fail "it has ended by itself"
has_line "$DIR/idle.err" 'idle for IdleTimeout' ||
    fail "its client is not told: $(cat "$DIR/idle.err")"
wait_for 20 has_line "$SERVER_LOG" 'session [0-9]+: ended: idle for IdleTimeout;' ||
    fail "not in the log"
is_running "$any" || fail "a session without limits has ended"
is_running "$busy" || fail "a session that is busy has ended"
stop_server
