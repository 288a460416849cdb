#!/bin/sh
# What is said of mistakes in a configuration and on the command line, word for
# word: all of a file at once, what would be right, and by -t what a start would
# refuse.
. "${0%/*}/lib.sh"
need python3

CONF=$DIR/conf

# says STATUS ARG...: execsrvd ends with it and prints what is on standard input,
# where DIR stands for the folder.
says() {
	want=$1
	shift
	"$EXECSRVD" "$@" >"$DIR/out" 2>&1
	got=$?
	sed "s|$DIR|DIR|g" >"$DIR/want"
	sed "s|$DIR|DIR|g" "$DIR/out" >"$DIR/got"
	diff -u "$DIR/want" "$DIR/got" >"$DIR/diff" ||
	    fail "$*: $(cat "$DIR/diff")"
	same "status of $*" "$got" "$want"
}

cat >"$CONF" <<END
Listen unix:$DIR/a.sock
LogLevel loud
DetachedTtl forever
Lisen unix:$DIR/b.sock
Match User alice bob
	Nice 30
Match all
	Nice 30
END
says 78 -t -f "$CONF" <<END
execsrvd: DIR/conf:2: LogLevel: bad value "loud": expected error, warning, info or debug
execsrvd: DIR/conf:3: DetachedTtl: bad value "forever": expected a time in seconds or with ms, s, m, h or d, such as 10m
execsrvd: DIR/conf:4: unknown keyword "Lisen": did you mean "Listen"?
execsrvd: DIR/conf:5: Match: bob without a pattern (a list has commas, no blanks)
execsrvd: DIR/conf:8: Nice: bad value "30": expected a number from 0 to 19
END

# What only a look at all of it shows, and at what is there.
cat >"$CONF" <<END
Listen unix:$DIR/a.sock
Listen unix:$DIR/a.sock
LogTo $DIR/nowhere/log
AuditLog relative
PidFile nowhere/pid
Uplink one
	RegistryUrl https://127.0.0.1:1
	EnvironmentId x
	UplinkCaFile ca.pem
	Forward ws://127.0.0.1:1
Uplink two
	RegistryUrl https://127.0.0.1:1
END
for how in -t -D; do
	says 78 $how -f "$CONF" <<-END
	execsrvd: DIR/conf:4: AuditLog relative: expected none, syslog or the absolute path of a file
	execsrvd: DIR/conf:3: LogTo DIR/nowhere/log: No such file or directory
	execsrvd: DIR/conf:5: PidFile DIR/nowhere/pid: No such file or directory
	execsrvd: DIR/conf:9: Uplink one: UplinkCaFile DIR/ca.pem: No such file or directory
	execsrvd: DIR/conf:11: Uplink two: RegistryUrl and EnvironmentId are needed
	execsrvd: DIR/conf:2: unix:DIR/a.sock: it is there twice
	END
done

# Both kinds at once; but nothing that comes of a mistake that is told.
cat >"$CONF" <<END
Nice 30
LogTo $DIR/nowhere/log
Listen ws://0.0.0.0:0
Uplink two
	RegistryUrl https://127.0.0.1:1
END
says 78 -t -f "$CONF" <<END
execsrvd: DIR/conf:1: Nice: bad value "30": expected a number from 0 to 19
execsrvd: DIR/conf:2: LogTo DIR/nowhere/log: No such file or directory
execsrvd: DIR/conf:4: Uplink two: RegistryUrl and EnvironmentId are needed
execsrvd: DIR/conf:3: ws://0.0.0.0:0: not a loopback address, and no clients are served there without authentication: see Token, TokenFile, BearerSecretFile and BearerKeysFile
END
cat >"$CONF" <<END
LogTo $DIR/nowhere/log
Listen ws://0.0.0.0:0
TokenFil tokens
Uplink two
	RegistryUrl https://127.0.0.1:1
	EnvironmenId e
END
says 78 -t -f "$CONF" <<END
execsrvd: DIR/conf:3: unknown keyword "TokenFil": did you mean "TokenFile"?
execsrvd: DIR/conf:6: unknown keyword "EnvironmenId": did you mean "EnvironmentId"?
execsrvd: DIR/conf:1: LogTo DIR/nowhere/log: No such file or directory
END
printf 'TokenFile "tokens\nListen ws://0.0.0.0:0\n' >"$CONF"
says 78 -t -f "$CONF" <<END
execsrvd: DIR/conf:1: a quote without an end
END

# Right, but perhaps not meant so.
cat >"$CONF" <<END
Nice 1
BusyPoll off
Nice 2
END
says 0 -t -f "$CONF" <<END
execsrvd: warning: DIR/conf:3: Nice is set before, at line 1, and only the first value counts
execsrvd: warning: nothing to listen on, unless sockets are passed in or --listen is given
END
says 0 -t -f "$CONF" -o Nice=3 --listen ws://127.0.0.1:0 <<END
END

# What a start would read is read, also by a test.
user=$(id -un 65534 2>/dev/null) && [ "$(id -u)" -eq 0 ] || user=$(id -un)
umask 077
echo nonsense >"$DIR/tokens"
echo 'two words' >"$DIR/cred"
echo nonsense >"$DIR/ca.pem"
umask 022
cat >"$CONF" <<END
Listen ws://127.0.0.1:0
TokenFile tokens
TokenUser $user
Transcript all
TranscriptDir $DIR/none/transcripts
RemoteUser $user
Uplink a
	RegistryUrl http://registry.example
	EnvironmentId e
	CredentialFile cred
Uplink b
	RegistryUrl https://registry.example
	EnvironmentId e
	UplinkCaFile ca.pem
Uplink c
	RegistryUrl https://registry.example
	EnvironmentId f
	CredentialFile none
END
"$EXECSRVD" -t -f "$CONF" >"$DIR/out" 2>&1
same "status of -t" $? 78
for line in "5: TranscriptDir $DIR/none/transcripts: No such file or directory" \
    "10: Uplink a: CredentialFile $DIR/cred: .*" \
    "14: Uplink b: UplinkCaFile $DIR/ca.pem: no certificate in it" \
    "18: Uplink c: CredentialFile $DIR/none: No such file or directory" \
    "2: TokenFile $DIR/tokens: line 1: .*"; do
	grep -qx "execsrvd: $CONF:$line" "$DIR/out" ||
	    fail "no '$line': $(cat "$DIR/out")"
done
same "nothing else" "$(wc -l <"$DIR/out")" 5
cat >"$CONF" <<END
Listen ws://127.0.0.1:0
RemoteUser $user
Uplink a
	RegistryUrl http://registry.example
	EnvironmentId e
END
says 0 -t -f "$CONF" <<END
execsrvd: warning: Uplink a: RegistryUrl http://registry.example: the credential is sent in clear text: use https://
END

# Where a socket cannot be made, or not safely.
mkdir -m 1777 "$DIR/sticky"
mkdir -m 777 "$DIR/open"
echo x >"$DIR/file"
long=$(printf '%0100d' 0)
cat >"$CONF" <<END
Listen unix:$DIR/nowhere/a.sock
Listen unix:$DIR/file
MetricsListen unix:$DIR/file/m.sock
END
for how in -t -D; do
	says 78 $how -f "$CONF" <<-END
	execsrvd: DIR/conf:1: unix:DIR/nowhere/a.sock: the socket cannot be made in DIR/nowhere: No such file or directory
	execsrvd: DIR/conf:2: unix:DIR/file: something that is no socket has that name
	execsrvd: DIR/conf:3: unix:DIR/file/m.sock: the socket cannot be made in DIR/file: Not a directory
	END
done
says 78 -t -f none --listen "unix:$DIR/$long" <<END
execsrvd: unix:DIR/$long: too long; expected ws://IP:PORT with a numeric IP, unix:PATH with an absolute path of up to 107 bytes, or stdio
END
if [ "$(id -u)" -ne 0 ]; then
	mkdir -m 555 "$DIR/closed"
	says 78 -t -f none --listen "unix:$DIR/closed/a.sock" <<-END
	execsrvd: unix:DIR/closed/a.sock: the socket cannot be made in DIR/closed: Permission denied
	END
fi
says 0 -t -f none --listen "unix:$DIR/open/a.sock" \
    --listen "unix:$DIR/sticky/a.sock" <<END
execsrvd: warning: unix:DIR/open/a.sock: everybody may put another socket in its place: chmod +t or o-w DIR/open
END
# A run directory is made by the start.
mkdir "$DIR/later"
says 0 -t -f none -o "RuntimeDirectory=$DIR/later/run" \
    --listen "unix:$DIR/later/run/a.sock" <<END
END

# Lenient where it can mean nothing else; what is in force is printed as ever.
cat >"$CONF" <<END
BusyPoll true
DetachedTtl 10min
DetachedTtlMax 2d
LogLevel warn
MemoryMax 2GB
TokenFile tokens
END
"$EXECSRVD" -T -f "$CONF" >"$DIR/out" 2>&1
for line in 'BusyPoll yes' 'DetachedTtl 10m' 'DetachedTtlMax 2d' \
    'LogLevel warning' 'MemoryMax 2G' "TokenFile $DIR/tokens"; do
	grep -qxF "$line" "$DIR/out" || fail "no '$line': $(cat "$DIR/out")"
done

# Short: what is wrong, and where to look.
says 2 extra <<END
execsrvd: unexpected argument "extra": a command comes after "--" (see execsrvd --help)
END
says 2 -C user=x <<END
execsrvd: -C needs -T (see execsrvd --help)
END
says 2 -D --notify-fd 1 <<END
execsrvd: --notify-fd 1: expected a descriptor from 3 to 255 (see execsrvd --help)
END
says 78 -D -f none -o Nice=x -o LogLevel=y <<END
execsrvd: Nice: bad value "x": expected a number from 0 to 19
execsrvd: LogLevel: bad value "y": expected error, warning, info or debug
END
# A line for each switch, and none without its meaning.
"$EXECSRVD" --help >"$DIR/out" || fail "--help"
for switch in -D -t --listen --remote --ws-auth --exit-on-stdin-close; do
	grep -Eq -A1 -- "^  $switch( [A-Z]+)? {2,}[a-z]" "$DIR/out" ||
	    fail "--help: $switch"
done

# A daemon that could not be found again does not start: the folder of its
# PidFile is there when it is looked at, but it is one itself.
mkdir "$DIR/pid"
"$EXECSRVD" -D -f none --listen "unix:$DIR/p.sock" -o "PidFile=$DIR/pid" \
    >"$DIR/out" 2>&1
same "status with a PidFile that cannot be written" $? 1
has_line "$DIR/out" "PidFile $DIR/pid: Is a directory" || fail "$(cat "$DIR/out")"
[ ! -e "$DIR/p.sock" ] || fail "the socket is left"

# A reload says all of it, too.
echo "Listen unix:$DIR/a.sock" >"$CONF"
# loaded: whether the last reload succeeded, as a metric.
loaded() {
	python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
print(s.makefile().read())' "$DIR/m.sock" |
	    sed -n 's/^execsrv_config_last_reload_successful //p'
}
start_server -f "$CONF" --listen "unix:$DIR/a.sock" \
    -o "MetricsListen=unix:$DIR/m.sock"
same "loaded at the start" "$(loaded)" 1
expect 0 "$CTL" reload
same "loaded again" "$(loaded)" 1
printf 'Nice x\nUmask y\n' >"$CONF"
expect 1 "$CTL" reload
sed "s|$DIR|DIR|g" "$DIR/err" >"$DIR/got"
cat >"$DIR/want" <<END
execsrvctl: DIR/conf:1: Nice: bad value "x": expected a number from 0 to 19
execsrvctl: DIR/conf:2: Umask: bad value "y": expected an octal number up to 777
END
diff -u "$DIR/want" "$DIR/got" || fail "reload"
same "what was refused" "$(loaded)" 0
has_line "$SERVER_LOG" 'the old configuration stays: .*:1: Nice' ||
    fail "not in the log"
has_line "$SERVER_LOG" 'the old configuration stays: .*:2: Umask' ||
    fail "not in the log"
stop_server
