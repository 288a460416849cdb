#!/bin/sh
# execsrvctl run: who reads its output slowly, not at all, or goes.
. "${0%/*}/lib.sh"
need sha256sum

start_server
sum=$(seq 3000000 | sha256sum)
same "a slow reader" "$("$CTL" run -- seq 3000000 | {
	sleep 1
	sha256sum
})" "$sum"
python3 - "$CTL" >"$DIR/sum" <<'END' || fail "a socket"
import hashlib, socket, subprocess, sys
a, b = socket.socketpair()
child = subprocess.Popen([sys.argv[1], 'run', '--', 'seq', '3000000'],
                         stdin=subprocess.DEVNULL, stdout=b)
b.close()
h = hashlib.sha256()
while data := a.recv(65536):
    h.update(data)
print(h.hexdigest() + '  -')
sys.exit(child.wait())
END
same "a socket" "$(cat "$DIR/sum")" "$sum"

# Its reader goes: the command ends, and we as by a SIGPIPE.
{
	code=0
	# shellcheck disable=SC2016
	"$CTL" run -- sh -c 'echo $$; exec yes' || code=$?
	echo "$code" >"$DIR/code"
} | head -n 1 >"$DIR/pid"
wait_for 10 test -s "$DIR/code" || fail "it does not notice"
same "status" "$(cat "$DIR/code")" 141
wait_for 10 is_gone "$(cat "$DIR/pid")" || fail "the command lives"

if [ -c /dev/full ]; then
	code=0
	"$CTL" run -- yes >/dev/full 2>"$DIR/err" || code=$?
	same "a full disk: status" "$code" 125
	same "lines of the reason" "$(wc -l <"$DIR/err")" 1
fi

# Nobody reads: little is kept here, and the command waits.
mkfifo "$DIR/fifo"
exec 9<>"$DIR/fifo"
"$CTL" run -- cat /dev/zero >"$DIR/fifo" 9>&- &
run=$!
at_exit "kill -KILL $run 2>/dev/null"
out_of() {
	"$CTL" --json ps >"$DIR/ps" && json "$DIR/ps" "max((p['session'], p['out'])
	    for p in d if p['state'] == 'running')[1]" 2>/dev/null
}
rests() {
	before=$(out_of) && [ "$before" -gt 0 ] && sleep 0.5 &&
	    [ "$(out_of)" = "$before" ]
}
wait_for 10 rests || fail "output is read without end"
kib=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$run/status")
[ -n "${SANITIZERS:-}" ] || [ "$kib" -lt 40000 ] || fail "it keeps $kib KiB"
kill -TERM "$run"
wait_for 10 is_gone "$run" || fail "a signal does not pass the output"
