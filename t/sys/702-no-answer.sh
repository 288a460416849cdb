#!/bin/sh
# A daemon that does not answer, or not to us: status 4, and soon.
. "${0%/*}/lib.sh"

start_server

# What stands still together with us has its time to answer afterwards.
stood_still() {
	kill -STOP "$SERVER"
	wait_for 5 state_is "$SERVER" T || fail "not stopped"
	"$CTL" status >/dev/null 2>"$DIR/err" &
	ctl=$!
	sleep 0.5
	kill -STOP "$ctl"
	sleep 2.5
	kill -CONT "$ctl" "$SERVER"
	wait "$ctl"
}
for try in 1 2 3 4 5; do
	! stood_still || break
	[ "$try" -lt 5 ] || fail "given up: $(cat "$DIR/err")"
done

kill -STOP "$SERVER"
wait_for 5 state_is "$SERVER" T || fail "not stopped"
for command in status sessions ps; do
	# A busy machine may need another try.
	for try in 1 2 3 4 5; do
		began=$(now_ms)
		expect 4 "$CTL" "$command"
		took=$(($(now_ms) - began))
		[ "$took" -ge 3000 ] || break
	done
	[ "$took" -lt 3000 ] || fail "$command took $took ms"
	same "one line" "$(wc -l <"$DIR/err")" 1
done
# Its queue is full: that is no answer either.
python3 - "$DIR/run/control.sock" "$CTL" <<'END' || fail "queue"
import socket, subprocess, sys
queue = []
while True:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect(sys.argv[1])
    except BlockingIOError:
        break
    queue.append(s)
    assert len(queue) < 10000
code = subprocess.run([sys.argv[2], 'status'], timeout=30).returncode
sys.exit(code != 4)
END
# Nobody to ask for an address.
expect 125 "$CTL" run -- true
kill -CONT "$SERVER"
wait_for 5 "$CTL" status >/dev/null || fail "it does not come back"

[ "$(id -u)" -eq 0 ] || ends_here "other users: not root"
chmod 755 "$DIR" "$DIR/run"
cp "$CTL" "$DIR/execsrvctl"
chmod 660 "$DIR/run/control.sock"
expect 4 as_user 65534 "$DIR/execsrvctl" status
has_line "$DIR/err" 'Permission denied' || fail "no reason"
