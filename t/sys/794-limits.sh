#!/bin/sh
# Limits of commands by keyword and Match: what the kernel says they are, in a
# sandbox too; the mark that processes are found by is no part of them.
. "${0%/*}/lib.sh"
need python3

cat >"$DIR/conf" <<END
RLimitNoFile 200:300
RLimitAS 4G
RLimitCore 0
RLimitFSize 1M:2M
Nice 3
Match Listener unix:*
	RLimitNoFile 100
	RLimitCPU 1:2
	Umask 077
	Nice 19
Match all
	RLimitCPU 50:60
END
start_server --listen ws://127.0.0.1:0 --listen "unix:$DIR/a.sock" \
    -f "$DIR/conf"

LIMITS='import os, resource as r
print([r.getrlimit(n) for n in (r.RLIMIT_NOFILE, r.RLIMIT_AS, r.RLIMIT_CORE,
    r.RLIMIT_FSIZE, r.RLIMIT_CPU)], oct(os.umask(0)),
    os.getpriority(os.PRIO_PROCESS, 0) - base)'
base=$(python3 -c 'import os; print(os.getpriority(os.PRIO_PROCESS, 0))')
LIMITS="base = $base
$LIMITS"
expect 0 "$CTL" run --url "$URL" -- python3 -c "$LIMITS"
same "limits of all" "$(cat "$DIR/out")" "[(200, 300), (4294967296, 4294967296),\
 (0, 0), (1048576, 2097152), (50, 60)] 0o22 $((base + 3 > 19 ? 19 - base : 3))"
expect 0 "$CTL" run --url "unix:$DIR/a.sock" -- python3 -c "$LIMITS"
same "limits of some" "$(cat "$DIR/out")" "[(100, 100),\
 (4294967296, 4294967296), (0, 0), (1048576, 2097152), (1, 2)] 0o77\
 $((19 - base))"

# They hold: a file, memory, processor time.
RUN="$CTL run --url unix:$DIR/a.sock --"
code=0
$RUN sh -c "exec dd if=/dev/zero of=$DIR/big bs=64k count=64" \
    >/dev/null 2>&1 || code=$?
[ "$code" -ne 0 ] || fail "a file without a limit"
same "its size" "$(stat -c %s "$DIR/big")" 1048576
same "its mode" "$(stat -c %a "$DIR/big")" 600
expect 1 $RUN python3 -c 'x = bytearray(5 << 30)'
has_line "$DIR/err" MemoryError || fail "memory: $(cat "$DIR/err")"
code=0
$RUN sh -c 'while :; do :; done' >/dev/null 2>&1 || code=$?
case $code in
137|152) ;;
*)	fail "processor time: status $code" ;;
esac

# The mark is still there: who daemonizes dies with the session.
word=$((1000000 + $$))
expect 0 "$CTL" run --url "$URL" -- sh -c "setsid sleep $word >/dev/null 2>&1 &
    sleep 0.2"
no_sleeper() {
	! pgrep -f "sleep $word" >/dev/null
}
wait_for 10 no_sleeper || fail "somebody is left"

python3 "${0%/*}/794-limits.py" || fail "794-limits.py"
stop_server
