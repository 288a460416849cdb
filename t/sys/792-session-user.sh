#!/bin/sh
# SessionUser: sessions run as that user, and belong to their clients only.
. "${0%/*}/lib.sh"
need_root
need setpriv python3
nobody=$(getent passwd 65534 | cut -d : -f 1)
[ -n "$nobody" ] || skip "no user 65534"
getent passwd 1 >/dev/null || skip "no user 1"
as_user 1 test -x "$CTL" || skip "other users cannot run what was built"

cat >"$DIR/conf" <<END
Match Identity uid:1,uid:2
	SessionUser $nobody
Match Identity uid:3
	SessionUser root
END
start_server -f "$DIR/conf"

run_as() {
	uid=$1
	shift
	as_user "$uid" "$CTL" run --patience 0 --url "$URL" "$@" 2>"$DIR/err"
}
same "user of uid 1" "$(run_as 1 -- id -u)" 65534
same "user of root" "$("$CTL" run --url "$URL" -- id -u)" 0
! run_as 3 -- id -u || fail "a session as root"
wait_for 10 has_line "$SERVER_LOG" 'refused: sessions as root are not permitted' ||
    fail "no line in the log"

python3 "${0%/*}/792-session-user.py" "$URL" || fail "resume"

# A server that is not root cannot.
stop_server
mkdir "$DIR/other"
chown 65534 "$DIR/other"
expect 78 as_user 65534 env EXECSRV_RUNTIME_DIR="$DIR/other" \
    "$EXECSRVD" -o SessionUser=root --listen ws://127.0.0.1:0
has_line "$DIR/err" 'only root can run sessions of another user' ||
    fail "no reason: $(cat "$DIR/err")"
