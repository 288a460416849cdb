#!/bin/sh
# Who may not open the control socket is a client of the daemon all the same.
. "${0%/*}/lib.sh"
need setpriv
control=$DIR/run/control.sock
doors=$DIR/run/listen
unset EXECSRV_URL

# closed COMMAND...: as somebody who may not.
if [ "$(id -u)" -eq 0 ]; then
	getent passwd 65534 >/dev/null || skip "no user 65534"
	as_user 65534 test -x "$CTL" ||
	    skip "other users cannot run what was built"
	closed() {
		as_user 65534 "$CTL" "$@"
	}
	user=65534
else
	closed() {
		chmod 0 "$control"
		code=0
		"$CTL" "$@" || code=$?
		chmod 660 "$control"
		return "$code"
	}
	user=$(id -u)
fi

printf 'Listen unix:%s\nControlGroup %s\n' "$DIR/door" "$(id -gn)" >"$DIR/conf"
start_server -f "$DIR/conf"
same "its doors" "$(cat "$doors")" "$URL"
same "their mode" "$(stat -c %a "$doors")" 644
expect 4 closed status
expect 0 closed run -- id -u
same "who it was" "$(cat "$DIR/out")" "$user"

# What others can write to, nobody is sent to; and what cannot be found out is
# said, with what helps.
chmod 666 "$doors"
expect 125 closed run -- id -u
has_line "$DIR/err" 'control.sock: Permission denied' || fail "no reason"
has_line "$DIR/err" '--url, in EXECSRV_URL, or in .*/hosts' || fail "no help"
chmod 644 "$doors"
mv "$doors" "$DIR/run/other"
ln -s other "$doors"
expect 125 closed run -- id -u
rm "$doors"
expect 125 closed run -- id -u
mv "$DIR/run/other" "$doors"
chmod 777 "$DIR/run"
expect 125 closed run -- id -u
chmod 755 "$DIR/run"
expect 0 closed run -- id -u
expect 0 closed run --url "$URL" -- true
stop_server
[ ! -e "$doors" ] || fail "its doors are left"
expect 125 closed run -- true
has_line "$DIR/err" 'no daemon runs' || fail "no reason"
has_line "$DIR/err" '--url, in EXECSRV_URL' || fail "no help"

# A reload changes them.
"$EXECSRVD" -D -f "$DIR/conf" >"$DIR/said" 2>"$DIR/server.log" &
SERVER=$!
at_exit "end_server $SERVER"
wait_for 60 has_line "$doors" "^unix:$DIR/door\$" || fail "no door"
expect 0 closed run -- id -u
same "who it was" "$(cat "$DIR/out")" "$user"
sed -i "s|/door|/another|" "$DIR/conf"
expect 0 "$CTL" reload
same "its doors" "$(cat "$doors")" "unix:$DIR/another"
expect 0 closed run -- true
stop_server
