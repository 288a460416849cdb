#!/bin/sh
# SIGHUP and execsrvctl reload: all of the new configuration or nothing; what
# exists is not touched.
. "${0%/*}/lib.sh"
need python3

group=$(id -gn) || skip "a group without a name"
cat >"$DIR/conf" <<END
PermitRootSession yes
Listen ws://127.0.0.1:0
Listen unix:$DIR/a.sock
MaxProcesses 2
END
"$EXECSRVD" -D -f "$DIR/conf" >"$DIR/server1.url" 2>"$DIR/server1.log" \
    </dev/null &
SERVER=$!
SERVER_LOG=$DIR/server1.log
at_exit "end_server $SERVER"
server_url=$DIR/server1.url
wait_for 10 server_answers || fail "no server"
URL=$(head -n 1 "$server_url")
A=unix:$DIR/a.sock
B=unix:$DIR/b.sock

# A session that lives through all of this.
mkfifo "$DIR/in"
exec 9<>"$DIR/in"
"$CTL" run --url "$A" -- cat <"$DIR/in" >"$DIR/cat.out" 2>&1 &
RUN=$!
at_exit "kill -KILL $RUN 2>/dev/null"
echo one >&9
wait_for 10 has_line "$DIR/cat.out" one || fail "no session"

can_run() {
	"$CTL" run --patience 0 --url "$1" -- true 2>"$DIR/err"
}
cannot_run() {
	! can_run "$1"
}
listens() {
	"$CTL" --json status >"$DIR/status" && json "$DIR/status" "d['listen']"
}

# --- another one --------------------------------------------------------------
cat >"$DIR/conf" <<END
PermitRootSession yes
Listen ws://127.0.0.1:0
Listen $B
MaxProcesses 3
PidFile $DIR/pid
ControlGroup $group
END
expect 0 "$CTL" --json reload
same answer "$(json "$DIR/out" "d")" \
    "{'added': 1, 'removed': 1, 'restart': ['ControlGroup', 'PidFile']}"
has_line "$SERVER_LOG" 'PidFile has changed, which needs a restart' ||
    fail "no warning"
same addresses "$(listens)" "['$URL', '$B']"
same "the file of the old one" "$(ls "$DIR"/*.sock)" "$DIR/b.sock"
can_run "$URL" || fail "the old address: $(cat "$DIR/err")"
can_run "$B" || fail "the new address: $(cat "$DIR/err")"
echo two >&9
wait_for 10 has_line "$DIR/cat.out" two || fail "the session is gone"

# --- bad ones: nothing changes --------------------------------------------------
bad() {
	cat >"$DIR/conf"
	expect 1 "$CTL" reload
	has_line "$DIR/err" "$1" || fail "no '$1': $(cat "$DIR/err")"
	before=$(grep -c 'the old configuration stays' "$SERVER_LOG")
	kill -HUP "$SERVER"
	wait_for 10 more_lines "$before" || fail "SIGHUP is not answered"
	same "after '$1'" "$(listens)" "['$URL', '$B']"
	same sockets "$(ls "$DIR"/*.sock)" "$DIR/b.sock"
	can_run "$B" || fail "after '$1': $(cat "$DIR/err")"
}
more_lines() {
	[ "$(grep -c 'the old configuration stays' "$SERVER_LOG")" -gt "$1" ]
}
bad "$DIR/conf:2: unknown keyword \"Lisen\": did you mean" <<END
Listen unix:$DIR/c.sock
Lisen $B
END
bad 'not a loopback address' <<END
Listen unix:$DIR/c.sock
Listen ws://192.0.2.1:1
END
bad 'Address already in use' <<END
Listen unix:$DIR/c.sock
Listen $URL
END
bad 'nothing to listen on' <<END
MaxProcesses 1
END
bad "conf:3: SessionUser no-such-user-here: no such user" <<END
Listen unix:$DIR/c.sock

Match all
	SessionUser no-such-user-here
END
bad 'RegistryUrl and EnvironmentId' <<END
Listen unix:$DIR/c.sock
Uplink x
END
# Also what would only count after a restart.
bad 'ControlGroup nobody-has-this: no such group' <<END
Listen unix:$DIR/c.sock
ControlGroup nobody-has-this
END
bad 'MetricsListen|foo:99' <<END
Listen unix:$DIR/c.sock
MetricsListen foo:99
END
rm "$DIR/conf"
expect 1 "$CTL" reload
has_line "$DIR/err" 'No such file' || fail "no reason: $(cat "$DIR/err")"

# Who looks names up has ended: later ones see what has changed.
workers_only() {
	for status in $(grep -l "^PPid:[[:space:]]*$SERVER\$" \
	    /proc/[0-9]*/status 2>/dev/null); do
		! grep -q '^Name:[[:space:]]*execsrvd$' "$status" 2>/dev/null ||
		    return 1
	done
}
wait_for 10 workers_only || fail "a child that is none of its workers: $status"

# --- by signal, and back --------------------------------------------------------
cat >"$DIR/conf" <<END
PermitRootSession yes
Listen ws://127.0.0.1:0
Listen $A
END
kill -HUP "$SERVER"
wait_for 10 can_run "$A" || fail "SIGHUP: $(cat "$DIR/err")"
wait_for 10 cannot_run "$B" || fail "still listening"
can_run "$URL" || fail "the address that stays: $(cat "$DIR/err")"
echo three >&9
wait_for 10 has_line "$DIR/cat.out" three || fail "the session is gone"
wait_for 10 status_is attached 1 || fail "sessions: $(status_of attached)"

exec 9>&-
kill -TERM "$RUN"
stop_server
