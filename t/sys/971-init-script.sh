#!/bin/sh
# The LSB init script: what it does, and what it ends with.
. "${0%/*}/lib.sh"

# As it is installed, but for the places.
script=$DIR/execsrvd.init
conf=$DIR/execsrvd.conf
mkdir "$DIR/default"
pidfile=$DIR/execsrvd.pid
sed -e "s|^DAEMON=.*|DAEMON=$BUILD/execsrvd|" \
    -e "s|^CTL=.*|CTL=$BUILD/execsrvctl|" \
    -e "s|^PIDFILE=.*|PIDFILE=$pidfile|" \
    -e "s|^LOGDIR=.*|LOGDIR=$DIR/var/log/execsrv|" \
    -e "s|/[^ ]*/default/execsrvd|$DIR/default/execsrvd|g" \
    "$BUILD/contrib/init/execsrvd" >"$script"
grep -q '@[a-z]*@' "$script" && fail "it is not filled in"
has_line "$script" "^PIDFILE=$pidfile" || fail "another script"
cat >"$DIR/default/execsrvd" <<END
DAEMON_OPTS="-f $conf"
END
echo "Listen unix:$DIR/s" >"$conf"
log=$DIR/var/log/execsrv/execsrvd.log
echo "LogTo $log" >>"$conf"
chmod 644 "$conf"
need start-stop-daemon

init() {
	sh "$script" "$@"
}

# The headers that insserv(8) and update-rc.d(8) read.
for word in Provides Required-Start Required-Stop Default-Start Default-Stop \
    Short-Description; do
	has_line "$script" "^# $word:" || fail "no $word"
done

expect 2 init
expect 3 init nonsense
expect 3 init status

if [ "$(id -u)" -ne 0 ]; then
	for verb in start stop restart reload force-reload upgrade; do
		expect 4 init $verb
	done
	[ ! -e "$pidfile" ] || fail "an ordinary user has started it"
	ends_here "what it starts takes root"
fi

pid_of() {
	cat "$pidfile" 2>/dev/null
}
at_exit 'p=$(pid_of); kill "$p" 2>/dev/null && wait_for 60 is_gone "$p"'

# Nothing to stop, nothing to reload.
expect 0 init stop
expect 7 init reload
expect 7 init upgrade

expect 0 init start
first=$(pid_of)
is_running "$first" || fail "it does not run"
expect 0 init status
# The folder that logrotate(8) is told of; no service manager has made it.
adm=$(getent group adm | cut -d : -f 3)
same "the folder of the log" "$(stat -c %a:%u:%g "${log%/*}")" "2750:0:${adm:-0}"
# Its group may read the log, as after a rotation.
same "the log" "$(stat -c %a:%u:%g "$log")" "640:0:${adm:-0}"
# An ordinary user is told the truth, too.
if as_user 65534 test -r "$script" && as_user 65534 test -r "$pidfile"; then
	expect 0 as_user 65534 sh "$script" status
fi
expect 0 "$CTL" run --url "unix:$DIR/s" -- echo hello
same "what a client got" "$(cat "$DIR/out")" hello

# Twice is once.
expect 0 init start
same "the process" "$(pid_of)" "$first"

expect 0 init reload
wait_for 60 has_line "$log" "configuration was read again" ||
    fail "it was not told"
expect 0 init force-reload
same "the process" "$(pid_of)" "$first"
is_running "$first" || fail "a reload has ended it"

# The same process, as the program that is there now.
expect 0 init upgrade
same "the process after an upgrade" "$(pid_of)" "$first"
wait_for 60 has_line "$log" "was replaced by" || fail "it was not upgraded"
expect 0 "$CTL" run --url "unix:$DIR/s" -- true

# A bad file is found before the daemon is told.
cp "$conf" "$conf.good"
echo "Nonsense yes" >>"$conf"
expect 6 init reload
expect 6 init restart
has_line "$DIR/err" 'unknown keyword "Nonsense"' || fail "no reason"
# What only the daemon finds out.
cp "$conf.good" "$conf"
"$EXECSRVD" -D -f none -o RuntimeDirectory=none --listen "unix:$DIR/taken" \
    >"$DIR/other.log" 2>&1 &
other=$!
at_exit "kill $other 2>/dev/null"
# One that is bound and does not listen yet looks like one that was left.
wait_for 60 has_line /proc/net/unix " 00010000 .* $DIR/taken\$" ||
    fail "no other server"
echo "Listen unix:$DIR/taken" >>"$conf"
expect 1 init reload
has_line "$DIR/err" "taken: Address already in use" || fail "$(cat "$DIR/err")"
kill "$other"
wait_for 60 is_gone "$other"
same "the process after what was no restart" "$(pid_of)" "$first"
is_running "$first" || fail "a bad file has ended it"
expect 0 "$CTL" run --url "unix:$DIR/s" -- true
cp "$conf.good" "$conf"

# What an administrator made of the folder stays.
chmod 00700 "${log%/*}"
expect 0 init restart
same "the folder's mode" "$(stat -c %a "${log%/*}")" 700
second=$(pid_of)
[ "$second" != "$first" ] || fail "it is the same process"
wait_for 60 is_gone "$first" || fail "the first one runs on"
expect 0 "$CTL" run --url "unix:$DIR/s" -- true

expect 0 init stop
wait_for 60 is_gone "$second" || fail "it runs on"
[ ! -e "$pidfile" ] || fail "a PID file is left"
expect 3 init status

# Dead, and the file is there; and it can be started all the same.
cp "$conf" "$conf.kept"
echo "Respawn no" >>"$conf"
expect 0 init start
third=$(pid_of)
kill -KILL "$third"
wait_for 60 is_gone "$third"
expect 1 init status
mv "$conf.kept" "$conf"
expect 0 init start
is_running "$(pid_of)" || fail "not after a crash"
expect 0 init stop

# A number that is somebody else's now is not ours to end.
sleep 1000 &
other=$!
at_exit "kill $other 2>/dev/null"
echo "$other" >"$pidfile"
expect 0 init stop
is_running "$other" || fail "it has ended a stranger"

# No start with a bad configuration, none without the program.
rm -f "$pidfile"
for line in "Nonsense yes" "LogTo relative" "SessionUser no-such-user-here"; do
	printf '%s\nListen unix:%s/s\n' "$line" "$DIR" >"$conf"
	expect 6 init start
	expect 6 init restart
done
expect 3 init status
sed -i "s|^DAEMON=.*|DAEMON=$DIR/nowhere|" "$script"
expect 5 init start
