#!/bin/sh
# Programs that are not there: no start without workers; and if they go away
# later, one try a second, of which status tells.
. "${0%/*}/lib.sh"

mkdir "$DIR/bin"
cp "$BUILD/execsrvd" "$DIR/bin/"
EXECSRVD=$DIR/bin/execsrvd
pid_file=$DIR/pid

# In the background and in the foreground, and nothing stays behind.
expect 1 "$EXECSRVD" -f none -o "PidFile=$pid_file" --listen ws://127.0.0.1:0 \
    -o Foreground=no -o "LogTo=$DIR/log"
expect 1 "$EXECSRVD" -D -f none --listen ws://127.0.0.1:0
has_line "$DIR/err" 'execsrv-worker: No such file' ||
    fail "why: $(cat "$DIR/err")"
[ ! -e "$pid_file" ] || fail "a process id"
echo nothing >"$DIR/bin/execsrv-worker"
chmod 755 "$DIR/bin/execsrv-worker"
expect 1 "$EXECSRVD" -D -f none --listen ws://127.0.0.1:0
has_line "$DIR/err" 'execsrv-worker: Exec format error' ||
    fail "why: $(cat "$DIR/err")"

# It does nothing for anybody else.
for args in "" "1:1 stderr" "1 stderr"; do
	expect 2 "$BUILD/execsrv-worker" $args
	has_line "$DIR/err" 'is started by execsrvd' ||
	    fail "by hand: $(cat "$DIR/err")"
done

cp "$BUILD/execsrv-worker" "$DIR/bin/execsrv-worker"
start_server
expect 0 "$CTL" run -- true
mv "$DIR/bin/execsrv-worker" "$DIR/bin/away"
tries() {
	grep -c 'template died' "$SERVER_LOG"
}
tried() {
	[ "$(tries)" -ge "$1" ]
}
# Its oldest child is the template; the others are told to end by its end.
began=$(now_ms)
for pid in $(pgrep -P "$SERVER"); do
	kill -KILL "$pid"
done
wait_for 30 status_is ready no || fail "it says that it is ready"
wait_for 60 tried 8 || fail "it does not try again"
took=$(($(now_ms) - began))
# After 50 ms, and twice as long each time, up to a second.
[ "$(tries)" -le $((took / 1000 + 6)) ] || fail "$(tries) tries in $took ms"
mv "$DIR/bin/away" "$DIR/bin/execsrv-worker"
wait_for 60 status_is ready yes || fail "it does not come back"
wait_for 60 "$CTL" run -- true || fail "it does not work again"
stop_server
