#!/bin/sh
# execsrvctl status: for people, as JSON, and its exit status (LSB).
. "${0%/*}/lib.sh"

# Nobody there.
expect 3 "$CTL" status
same "lines of the complaint" "$(wc -l <"$DIR/err")" 1
same "its output" "$(cat "$DIR/out")" ""
expect 3 "$CTL" --json sessions
expect 3 "$CTL" -R "$DIR/nowhere" ps

# A file in the way of the socket is no daemon either.
python3 - "$DIR" <<'END' || fail "python"
import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(
    sys.argv[1] + '/run/control.sock')
END
expect 3 "$CTL" status

start_server
expect 0 "$CTL" status
same pid "$(status_of pid)" "$SERVER"
same listen "$(status_of listen)" "$URL"
same user "$(status_of user)" "$(id -un)"
has_line "$DIR/out" '^state +running$' || fail "no state"
has_line "$DIR/out" '^uptime +[0-9]+s$' || fail "no uptime"

expect 0 "$CTL" --json status
same pid "$(json "$DIR/out" "d['pid']")" "$SERVER"
same user "$(json "$DIR/out" "d['user']")" "$(id -u)"
same "JSON types" "$(json "$DIR/out" \
    "[type(d[k]).__name__ for k in ('version', 'uptime', 'attached')]")" \
    "['str', 'int', 'int']"
"$CTL" --version | grep -q "$(json "$DIR/out" "d['version']")" ||
    fail "another version"

same "a list of addresses" "$(json "$DIR/out" "d['listen']")" "['$URL']"

# Wherever options stand, and whatever names the folder.
expect 0 "$CTL" status --json
same "the same" "$(json "$DIR/out" "d['pid']")" "$SERVER"
(
	unset EXECSRV_RUNTIME_DIR
	expect 0 "$CTL" -R "$DIR/run" status
	expect 0 "$CTL" status --runtime-dir="$DIR/run"
) || exit 1
EXECSRV_RUNTIME_DIR=$DIR/nowhere expect 0 "$CTL" -R "$DIR/run" status

# Usage.
expect 2 "$CTL"
expect 2 "$CTL" nonsense
expect 2 "$CTL" --nonsense status
expect 2 "$CTL" status nonsense
expect 0 "$CTL" help
for command in status sessions ps run; do
	has_line "$DIR/out" "^  $command " || fail "help without $command"
done
expect 0 "$CTL" version
# Output that cannot be written is no success.
if [ -c /dev/full ]; then
	code=0
	"$CTL" status >/dev/full 2>"$DIR/err" || code=$?
	same "status on a full disk" "$code" 1
fi

stop_server
expect 3 "$CTL" status

# Why a run directory will not do.
mkdir -m 777 "$DIR/open"
: >"$DIR/file"
for why in "open: cannot be the run directory: other users may write there" \
    "file: cannot be the run directory: not a directory"; do
	expect 1 "$EXECSRVD" -D -o RuntimeDirectory="$DIR/${why%%:*}" \
	    --listen ws://127.0.0.1:0
	has_line "$DIR/err" "$why" || fail "no reason: $(cat "$DIR/err")"
done

# Several addresses, with blanks and commas in them.
start_server --listen ws://127.0.0.1:0 --listen "unix:$DIR/a b, c" \
    --listen "unix:$DIR/d"
expect 0 "$CTL" status
same "the first address" "$(status_of listen)" "$URL"
same "the lines of the others" \
    "$(grep -c "^           *unix:$DIR/\(a b, c\|d\)\$" "$DIR/out")" 2
expect 0 "$CTL" --json status
same "all addresses" "$(json "$DIR/out" "d['listen']")" \
    "['$URL', 'unix:$DIR/a b, c', 'unix:$DIR/d']"
stop_server
start_server --listen "unix:$DIR/a b, c"
same "a run without --url" "$("$CTL" run echo "done")" "done"
stop_server

# Where there is none, all places are named.
system=$(sed -n 's/^#define EXECSRV_RUNSTATEDIR "\(.*\)"$/\1/p' "$BUILD/config.h")
[ "$(id -u)" -eq 0 ] || ends_here "not root"
[ ! -e "$system/control.sock" ] || ends_here "a daemon of this machine"
mkdir -m 777 "$DIR/xdg"
cp "$CTL" "$DIR/ctl"
unset EXECSRV_RUNTIME_DIR
expect 3 as_user 65534 env XDG_RUNTIME_DIR="$DIR/xdg" "$DIR/ctl" status
same "where" "$(cat "$DIR/err")" "execsrvctl: no daemon runs ($DIR/xdg/execsrv/control.sock: No such file or directory; $system/control.sock: No such file or directory)"
