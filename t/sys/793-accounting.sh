#!/bin/sh
# What a session used, while it lives and in its last line of the log.
. "${0%/*}/lib.sh"
need python3

start_server
WORK='import os, signal, sys, time
room = bytearray(64 << 20)
with open(sys.argv[1], "wb") as f:
    f.write(b"x" * (4 << 20))
    os.fsync(f.fileno())
while time.process_time() < 0.7:
    pass
print("ready", flush=True)
signal.pause()'
# A child of the command: it counts before and after it is gone.  The kernel
# counts in ticks: some are lost.
"$CTL" run -- sh -c 'python3 -c "$0" "$1"; :' "$WORK" "$DIR/file" \
    >"$DIR/run.out" 2>&1 &
run=$!
at_exit "kill -KILL $run 2>/dev/null"
wait_for 30 has_line "$DIR/run.out" ready || fail "$(cat "$DIR/run.out")"

wait_for 10 rows_are "d[0]['cpu_ms'] >= 500" sessions ||
    fail "processor time: $(cat "$DIR/out")"
same "processor time" "$(json "$DIR/out" "500 <= d[0]['cpu_ms'] < 60000")" \
    True
same "memory of a command" "$(json "$DIR/out" "d[0]['command_kib'] >= 65536")" \
    True
same "memory of the worker" \
    "$(json "$DIR/out" "0 < d[0]['peak_kib'] < 65536")" True
# So does what is told of one session.
number=$(json "$DIR/out" "d[0]['session']")
ask "$DIR/show" --json show "$number"
same "shown processor time" "$(json "$DIR/show" "d['cpu_ms'] >= 500")" True
same "shown memory of a command" \
    "$(json "$DIR/show" "d['command_kib'] >= 65536")" True
same processes "$(json "$DIR/out" "d[0]['started']")" 1
# A file system in memory sends nothing anywhere.
case $(stat -f -c %T "$DIR") in
ext2/ext3|xfs|btrfs)
	same written "$(json "$DIR/out" "d[0]['written'] >= 4 << 20")" True ;;
esac
same "killed for want of memory" "$(json "$DIR/out" "d[0]['oom'] in (None, 0)")" \
    True

kill -TERM "$run"
wait_for 20 has_line "$SERVER_LOG" 'ended: ' || fail "the session does not end"
line=$(grep 'ended: ' "$SERVER_LOG")
value() {
	echo "$line" | sed -n "s/.*[ ,]$1 \\([0-9]*\\) $2.*/\\1/p"
}
[ "$(value cpu ms)" -ge 500 ] || fail "processor time: $line"
[ "$(value commands KiB)" -ge 65536 ] || fail "memory: $line"
[ -n "$(value read KiB)" ] && [ -n "$(value written KiB)" ] ||
    fail "storage: $line"
has_line "$SERVER_LOG" ' 1 processes,' || fail "processes: $line"
stop_server
