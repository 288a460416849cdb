#!/bin/sh
# 767: who has as many sessions as the server permits can see and end them from
# afar, and nothing else; the same while the server drains.
. "${0%/*}/lib.sh"

start_server -o MaxSessionsPerUser=1
HERE=$EXECSRV_RUNTIME_DIR
EXECSRV_RUNTIME_DIR=$DIR/nowhere
unset EXECSRV_URL EXECSRV_TOKEN

expect 0 "$CTL" run -u "$URL" -d -- sleep 1000
session=$(cat "$DIR/out")
expect 125 "$CTL" run -u "$URL" -- true
same "why" "$(cat "$DIR/err")" "execsrvctl: too many sessions"
wait_for 20 rows_are "[s['id'] for s in d] == ['$session']" \
    sessions -u "$URL" ||
    fail "sessions: $(cat "$DIR/out" "$DIR/err")"
wait_for 20 rows_are \
    "[(p['process'], p['state']) for p in d] == [('p1', 'running')]" \
    ps -u "$URL" || fail "ps: $(cat "$DIR/out" "$DIR/err")"

# Several may ask, but not any number: all wait for an end.
tails=
for i in 1 2 3 4 5; do
	"$CTL" tail -f -u "$URL" "$session" p1 >/dev/null 2>"$DIR/tail.$i" &
	tails="$tails $!"
done
at_exit "kill $tails 2>/dev/null"
one_is_refused() {
	grep -q "too many sessions" "$DIR"/tail.?
}
wait_for 20 one_is_refused || fail "any number: $(cat "$DIR"/tail.?)"
same "refused" "$(cat "$DIR"/tail.? | grep -c "too many sessions")" 1
# shellcheck disable=SC2086
kill $tails 2>/dev/null || :

# On its way out a server can be asked, too.
alone() {
	EXECSRV_RUNTIME_DIR=$HERE rows_are "len(d) == 1" sessions
}
wait_for 20 alone || fail "left: $(cat "$DIR/out")"
EXECSRV_RUNTIME_DIR=$HERE expect 0 "$CTL" drain
wait_for 20 rows_are "[s['id'] for s in d] == ['$session']" \
    sessions -u "$URL" ||
    fail "while it drains: $(cat "$DIR/out" "$DIR/err")"
expect 125 "$CTL" run -u "$URL" -- true
same "why" "$(cat "$DIR/err")" "execsrvctl: the server is draining"
EXECSRV_RUNTIME_DIR=$HERE expect 0 "$CTL" undrain

expect 0 "$CTL" kill -u "$URL" "$session"
expect 0 "$CTL" run -u "$URL" -- true
