#!/bin/sh
# TasksMax, MemoryMax, CPUWeight: control groups bound a session, are told by
# status, and are gone with it; where there are none the log says so.
. "${0%/*}/lib.sh"
need python3

cat >"$DIR/conf" <<END
Match Listener unix:*
	TasksMax 12
	MemoryMax 100M
	CPUWeight 50
END
start_server --listen ws://127.0.0.1:0 --listen "unix:$DIR/a.sock" \
    -f "$DIR/conf"
limits=$(status_of limits)
[ -n "$limits" ] || fail "status does not tell"
for word in TasksMax MemoryMax CPUWeight; do
	case $limits in
	*"$word by cgroup v"[12]*) ;;
	*)	has_line "$SERVER_LOG" "$word cannot be enforced here" ||
		    fail "$word: no warning, and status says: $limits" ;;
	esac
done
expect 0 "$CTL" run --url "$URL" -- true
python3 "${0%/*}/795-session-limits.py" || fail "without control groups"
case $limits in
*cgroup*)	;;
*)	skip "no control groups to be had" ;;
esac

RUN="$CTL run --url unix:$DIR/a.sock --"
case $limits in
*TasksMax\ by\ cgroup*)
	# Fork until it is refused: python and 11 or less of them.
	expect 0 $RUN python3 -c 'import os, signal
children = []
try:
    for _ in range(50):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except BlockingIOError:
    pass
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print(len(children))'
	n=$(cat "$DIR/out")
	[ "$n" -ge 1 ] && [ "$n" -le 11 ] || fail "$n processes" ;;
esac
case $limits in
*MemoryMax\ by\ cgroup*)
	# The kernel kills the command, the session goes on and counts it.
	mkfifo "$DIR/in"
	exec 9<>"$DIR/in"
	$RUN sh -c 'python3 -c "x = bytearray(300 << 20)"; echo "ended $?"
	    exec cat' <"$DIR/in" >"$DIR/memory" 2>&1 &
	run=$!
	at_exit "kill -KILL $run 2>/dev/null"
	wait_for 30 has_line "$DIR/memory" 'ended 137' ||
	    fail "memory: $(cat "$DIR/memory")"
	expect 0 "$CTL" --json sessions
	same "killed" "$(json "$DIR/out" "d[0]['oom'] >= 1")" True
	exec 9>&-
	kill -TERM "$run"
	wait_for 10 has_line "$SERVER_LOG" ' [1-9][0-9]* out of memory$' ||
	    fail "the log does not tell" ;;
esac

# Nothing is left of a session, and nothing of the server.
groups() {
	find /sys/fs/cgroup -type d -name "$1" 2>/dev/null | grep "/execsrv-$SERVER/"
}
no_groups() {
	[ -z "$(groups 's[0-9]*')" ]
}
wait_for 10 no_groups || fail "left: $(groups 's[0-9]*')"
stop_server
own_group() {
	find /sys/fs/cgroup -type d -name "execsrv-$SERVER" 2>/dev/null
}
no_group() {
	[ -z "$(own_group)" ]
}
wait_for 10 no_group || fail "left: $(own_group)"
