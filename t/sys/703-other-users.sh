#!/bin/sh
# The control socket is for everybody or, with ControlGroup, for its owner and a
# group; of sessions a user sees and ends his own, root all.
. "${0%/*}/lib.sh"
need_root
need setpriv
getent passwd 65534 >/dev/null && getent passwd 1 >/dev/null ||
    skip "no users 65534 and 1"
group=$(getent group 65534 | cut -d : -f 1)
[ -n "$group" ] || skip "no group 65534"
as_user 65534 test -x "$CTL" || skip "other users cannot run what was built"

# ctl_as UID COMMAND...: in the group of the socket.
ctl_as() {
	uid=$1
	shift
	setpriv --reuid="$uid" --regid=65534 --clear-groups -- "$CTL" "$@"
}

start_server
same mode "$(stat -c '%a %u' "$DIR/run/control.sock")" "666 0"
expect 0 as_user 65534 "$CTL" status
expect 4 as_user 65534 "$CTL" drain
expect 4 as_user 65534 "$CTL" config show
for uid in 1 65534; do
	as_user "$uid" "$CTL" run -d --url "$URL" -- sleep 1000 >"$DIR/id.$uid" ||
	    fail "no session of $uid"
done
expect 0 as_user 65534 "$CTL" --json sessions
same "what 65534 sees" "$(json "$DIR/out" "[r['user'] for r in d]")" "[65534]"
expect 1 as_user 65534 "$CTL" kill "$(cat "$DIR/id.1")"
has_line "$DIR/err" 'no such session' || fail "$(cat "$DIR/err")"
expect 0 as_user 65534 "$CTL" kill --user 65534
ask "$DIR/left" sessions -o id --no-header
same "what is left" "$(cat "$DIR/left")" "$(cat "$DIR/id.1")"
stop_server

echo "ControlGroup $group" >"$DIR/conf"
start_server -f "$DIR/conf"
same mode "$(stat -c '%a %u %g' "$DIR/run/control.sock")" "660 0 65534"
expect 4 as_user 1 "$CTL" status
has_line "$DIR/err" 'Permission denied' || fail "no reason"

# A session of each; they live until the test ends.
pids=
for uid in 0 1 65534; do
	mkfifo -m 666 "$DIR/in.$uid"
	exec 9<>"$DIR/in.$uid"
	ctl_as "$uid" run --patience 0 --url "$URL" -- sh -c 'id -u; exec cat' \
	    <"$DIR/in.$uid" >"$DIR/out.$uid" 2>&1 &
	pids="$pids $!"
	at_exit "kill -TERM $! 2>/dev/null"
done
for uid in 0 1 65534; do
	wait_for 10 has_line "$DIR/out.$uid" "^$uid\$" ||
	    fail "no session as $uid: $(cat "$DIR/out.$uid")"
done

wait_for 10 rows_are "len(d) == 3" ps || fail "not three: $(cat "$DIR/out")"

# users COMMAND: of whom the rows are.
users() {
	json "$DIR/out" "' '.join(str(r['user']) for r in
	    sorted(d, key=lambda r: r['user']))"
}
for command in sessions ps; do
	expect 0 "$CTL" --json "$command"
	same "what root sees in $command" "$(users)" "0 1 65534"
	for uid in 1 65534; do
		expect 0 ctl_as "$uid" --json "$command"
		same "what $uid sees in $command" "$(users)" "$uid"
	done
done
# Who has none sees none.
expect 0 ctl_as 2 --json sessions
same "what 2 sees" "$(cat "$DIR/out")" "[]"

exec 9>&-
for pid in $pids; do
	kill -TERM "$pid"
	wait_for 10 is_gone "$pid" || fail "run does not end"
done
