#!/bin/sh
# Match blocks: limits of the clients that they are about, also after a reload;
# -T -C says the same.
. "${0%/*}/lib.sh"
need python3

me=$(id -un) || skip "a user without a name"
group=$(id -gn) || skip "a group without a name"

cat >"$DIR/conf" <<END
MaxSessionsPerUser 7
Match Listener unix:$DIR/none.sock
	MaxSessionsPerUser 3
Match User no-such-user,!$me,*
	MaxSessionsPerUser 3
Match Group $group User $me Address unix Listener unix:*,!ws:*
	MaxSessionsPerUser 2
	DenyUsers *
Match Identity uid:$(id -u) Address 127.0.0.0/8
	MaxSessionsPerUser 1
END

# of SPEC: what is in force.
of() {
	"$EXECSRVD" -T -f "$DIR/conf" -C "$1" |
	    sed -n 's/^MaxSessionsPerUser //p'
}
same nobody "$(of identity=x,user="$me")" 7
same unix "$(of "user=$me,group=$group,addr=unix,listener=unix:/x")" 2
same tcp "$(of "user=$me,group=$group,addr=127.0.0.1,identity=uid:$(id -u)")" 1
same stranger "$(of user=stranger)" 3
"$EXECSRVD" -T -f "$DIR/conf" -C "user=$me" >"$DIR/one" || fail "-C"
"$EXECSRVD" -T -f "$DIR/one" | cmp - "$DIR/one" || fail "does not read back"
"$EXECSRVD" -T -f "$DIR/conf" >"$DIR/all" || fail "-T"
"$EXECSRVD" -T -f "$DIR/all" | cmp - "$DIR/all" || fail "does not read back"
expect 2 "$EXECSRVD" -C "user=$me" -f "$DIR/conf"
expect 2 "$EXECSRVD" -T -C "host=$me" -f "$DIR/conf"

start_server --listen ws://127.0.0.1:0 --listen "unix:$DIR/a.sock" \
    -f "$DIR/conf"
SOCKET=unix:$DIR/a.sock

run() {
	"$CTL" run --patience 0 --url "$1" -- true 2>"$DIR/err"
}
! run "$SOCKET" || fail "a session that may not be"
run "$URL" || fail "no session: $(cat "$DIR/err")"
no_sessions() {
	[ "$("$CTL" --json sessions)" = "[]" ]
}
wait_for 10 no_sessions || fail "a session that does not end"
# One, and no second one beside it.
"$CTL" run --url "$URL" -- sh -c 'echo here; exec sleep 1000' \
    >"$DIR/first" 2>&1 &
first=$!
at_exit "kill -KILL $first 2>/dev/null"
wait_for 10 has_line "$DIR/first" here || fail "no first session"
! run "$URL" || fail "a second session"

sed -i -e 's/^MaxSessionsPerUser 7/MaxProcesses 1/; s/PerUser [1-3]$/PerUser 9/' \
    -e /DenyUsers/d "$DIR/conf"
expect 0 "$CTL" reload
run "$URL" || fail "no second session: $(cat "$DIR/err")"
run "$SOCKET" || fail "not on the socket: $(cat "$DIR/err")"
is_running "$first" || fail "the first session has ended"
kill -TERM "$first"
stop_server

# --- a user of no data base is in the group that the kernel names -----------------
group=$(getent group 65534 | cut -d : -f 1)
stranger() {
	setpriv --reuid=54321 --regid=65534 --clear-groups -- \
	    "$CTL" run --patience 0 --url "$SOCKET" -- sh "$@" >"$DIR/out" \
	    2>"$DIR/err"
}
if [ "$(id -u)" -eq 0 ] && [ -n "$group" ] && getent passwd 1 >/dev/null &&
    as_user 54321 test -x "$CTL"; then
	cat >"$DIR/conf" <<-END
	Match Group $group
		DenyUsers *
	END
	start_server --listen "$SOCKET" -f "$DIR/conf"
	! stranger -c : || fail "not in the group $group"
	has_line "$DIR/err" '403 Forbidden' || fail "$(cat "$DIR/err")"
	"$CTL" run --url "$SOCKET" -- true || fail "somebody of another group"
	# Still when his sessions are another's, who is in other groups.
	user=$(getent passwd 1 | cut -d : -f 1)
	sed -i "s/Deny.*/SessionUser $user\n\tUmask 027/" "$DIR/conf"
	expect 0 "$CTL" reload
	stranger -c 'id -u; umask' || fail "SessionUser: $(cat "$DIR/err")"
	same "of the group" "$(tr '\n' ' ' <"$DIR/out")" "1 0027 "
	stop_server
else
	echo "left out: SessionUser: not root, or no user 1 and group 65534"
fi

# --- the first address for TCP comes too late for sandboxes that exist -----------
echo "Listen $SOCKET" >"$DIR/conf"
"$EXECSRVD" -D -f "$DIR/conf" >/dev/null 2>"$DIR/server2.log" </dev/null &
SERVER=$!
at_exit "end_server $SERVER"
wait_for 10 run "$SOCKET" || fail "no server"
"$CTL" run --url "$SOCKET" -- sh -c 'echo here; exec sleep 1000' \
    >"$DIR/second" 2>&1 &
second=$!
at_exit "kill -KILL $second 2>/dev/null"
wait_for 10 has_line "$DIR/second" here || fail "no session"
echo "Listen ws://127.0.0.1:0" >>"$DIR/conf"
expect 1 "$CTL" reload
has_line "$DIR/err" 'needs a restart' || fail "no reason: $(cat "$DIR/err")"
kill -TERM "$second"
reloads() {
	"$CTL" reload >/dev/null 2>&1
}
wait_for 10 reloads || fail "no reload without sessions"
stop_server
