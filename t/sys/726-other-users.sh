#!/bin/sh
# What a user may do: everything to his own sessions, nothing to others, whom
# he cannot tell from none, and nothing to the server.
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

echo "ControlGroup $group" >"$DIR/conf"
start_server -f "$DIR/conf"
for uid in 0 1 65534; do
	ctl_as "$uid" run --patience 0 --url "$URL" -- \
	    sh -c 'echo ready; exec sleep 1000' >"$DIR/out.$uid" 2>&1 &
	at_exit "kill -KILL $! 2>/dev/null"
	wait_for 20 has_line "$DIR/out.$uid" ready ||
	    fail "no session as $uid: $(cat "$DIR/out.$uid")"
done

# of UID WHAT: of his session, as root sees it.
of() {
	ask "$DIR/ps" --json ps
	json "$DIR/ps" "[r['$2'] for r in d if r['user'] == $1][0]"
}
wait_for 10 rows_are "[r['running'] for r in d] == [1, 1, 1]" sessions ||
    fail "not three: $(cat "$DIR/out")"
cp "$DIR/out" "$DIR/sessions"
id=$(json "$DIR/sessions" "[r['id'] for r in d if r['user'] == 1][0]")
session=$(of 1 session)
pid=$(of 1 pid)

# 65534 cannot tell the session of 1 from none, by whatever name.
for name in "$session" "$id" "$(echo "$id" | cut -c 1-12)" 4711; do
	for command in "show $name" "ps $name" "tail $name $pid" \
	    "signal $name $pid TERM" "kill $name" "kill $name $pid"; do
		# shellcheck disable=SC2086 # words
		expect 1 ctl_as 65534 $command
		same "what $command says" "$(cat "$DIR/out" "$DIR/err")" \
		    "execsrvctl: no such session: $name"
	done
done
is_running "$pid" || fail "the process of 1 is gone"

# Nor the process of another in his own session.
own=$(of 65534 session)
for command in "tail $own $pid" "signal $own $pid KILL" "kill $own $pid"; do
	# shellcheck disable=SC2086 # words
	expect 1 ctl_as 65534 $command
	has_line "$DIR/err" 'no such process' || fail "$command: another reason"
done
is_running "$pid" || fail "the process of 1 is gone"

# The server is not his.
for command in drain "drain --wait" reopen-logs; do
	# shellcheck disable=SC2086 # words
	expect 4 ctl_as 65534 $command
	same "what $command says" "$(cat "$DIR/out" "$DIR/err")" \
	    "execsrvctl: only for root and the daemon's user"
done
expect 0 "$CTL" status
has_line "$DIR/out" '^state +running$' || fail "it is not running"
has_line "$SERVER_LOG" 'control: uid 65534, pid [0-9]+: may not drain$' ||
    fail "no audit of what was refused"

# His own is, and what he does is in the log.
pid=$(of 65534 pid)
expect 0 ctl_as 65534 tail "$own" "$pid"
same "the output" "$(cat "$DIR/out")" "ready"
expect 0 ctl_as 65534 signal "$own" "$pid" CONT
expect 0 ctl_as 65534 --json kill "$own"
same "gone" "$(json "$DIR/out" "d['gone']")" 1
is_gone "$pid" || fail "his process is still there"
for did in "reads the output of process $pid" \
    "sends signal 18 to process $pid" "kills session $own"; do
	has_line "$SERVER_LOG" "control: uid 65534, pid [0-9]+: $did.* 65534\$" ||
	    fail "not in the log: $did"
done

# Root's is everything.
expect 0 "$CTL" tail "$session" "$(of 1 pid)"
expect 0 "$CTL" --json kill "$id"
same "gone" "$(json "$DIR/out" "d['gone']")" 1
has_line "$SERVER_LOG" "control: uid 0, pid [0-9]+: kills session $session of \
uid 1\$" || fail "not in the log"
expect 0 "$CTL" drain
