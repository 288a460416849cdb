#!/bin/sh
# How execsrvctl answers: quietly, in colour, cut to the terminal; config
# check, version, reopen-logs.
. "${0%/*}/lib.sh"

# The exit status alone.
expect 3 "$CTL" -q status
same "all it says" "$(cat "$DIR/out" "$DIR/err")" ""
start_server
for args in "status -q" "-q status" "--quiet sessions" "ps -q" \
    "version -q" "config check -q"; do
	# shellcheck disable=SC2086 # words
	expect 0 "$CTL" $args
	same "all that $args says" "$(cat "$DIR/out" "$DIR/err")" ""
done
expect 1 "$CTL" -q show 7
same "all it says" "$(cat "$DIR/out" "$DIR/err")" ""

# Options that a command has not.
for args in "status -f" "ps --wait" "drain -f" "tail --wait 1 2" \
    "kill 1 -o x" "status --user x"; do
	# shellcheck disable=SC2086 # words
	expect 2 "$CTL" $args
	has_line "$DIR/err" "^execsrvctl: ${args%% *}: it has no option -" ||
	    fail "$args: $(cat "$DIR/err")"
	has_line "$DIR/err" "^usage: execsrvctl ${args%% *}" ||
	    fail "$args: $(cat "$DIR/err")"
done

# says ARG...: all that is said of a mistake, word for word.
says() {
	cat >"$DIR/want"
	expect 2 "$CTL" "$@"
	diff -u "$DIR/want" "$DIR/err" >"$DIR/diff" || fail "$(cat "$DIR/diff")"
}
says <<END
execsrvctl: a command is missing
execsrvctl: see execsrvctl --help
END
says sesions <<END
execsrvctl: sesions: no such command: did you mean "sessions"?
execsrvctl: see execsrvctl --help
END
says xyzzy <<END
execsrvctl: xyzzy: no such command
execsrvctl: see execsrvctl --help
END
says kill <<END
execsrvctl: kill: an argument is missing
usage: execsrvctl kill SESSION [PROCESS] | --user USER
END
says show 1 2 <<END
execsrvctl: show: too many arguments
usage: execsrvctl show SESSION
END
says ps --nonsense <<END
execsrvctl: ps: unrecognized option '--nonsense'
usage: execsrvctl ps [OPTION...] [SESSION]
END
says config <<END
execsrvctl: config: check, hosts or show?
usage: execsrvctl config check [FILE] | hosts | show
END
says signal 1 p1 NOSUCH <<END
execsrvctl: no such signal: NOSUCH
END

# Each command has a help of its own.
for command in $("$CTL" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do
	expect 0 "$CTL" help "$command"
	grep -q "^usage: execsrvctl \(\[-R DIR\] \)*$command" "$DIR/out" ||
	    [ "$command" = help ] || fail "help $command: $(cat "$DIR/out")"
	cp "$DIR/out" "$DIR/help"
	expect 0 "$CTL" "$command" --help
	same "$command --help" "$(cat "$DIR/out")" "$(cat "$DIR/help")"
done

# Ready, or not.  Without a session a server that drains stops at once.
expect 0 "$CTL" ready
"$CTL" run -d -- sleep 1000 >"$DIR/id" || fail "run -d"
expect 0 "$CTL" drain
expect 0 "$CTL" undrain
expect 0 "$CTL" ready --wait
expect 0 "$CTL" drain
expect 1 "$CTL" ready
has_line "$DIR/err" 'the server is not ready' || fail "$(cat "$DIR/err")"
"$CTL" drain --wait >"$DIR/drain.out" 2>&1 &
drain=$!
drain_is_asked() {
	[ "$(grep -c 'drains the server' "$SERVER_LOG")" -ge 3 ]
}
wait_for 10 drain_is_asked || fail "nobody drains"
expect 0 "$CTL" undrain
! wait "$drain" || fail "the drain succeeded"
has_line "$DIR/drain.out" 'the drain was undone' || fail "$(cat "$DIR/drain.out")"
expect 0 "$CTL" ready
"$CTL" run -- true || fail "no session after undrain"
expect 0 "$CTL" kill "$(cat "$DIR/id")"
has_line "$DIR/out" '^pid' && fail "a pid of nothing"

# The settings of the running daemon make the same daemon.
expect 0 "$CTL" config show
has_line "$DIR/out" '^DetachedTtl +90$' || fail "$(cat "$DIR/out")"
cp "$DIR/out" "$DIR/shown"
"$EXECSRVD" -T -f "$DIR/shown" >"$DIR/again" || fail "it cannot be read"
sed 's/  */ /g; s/ $//' "$DIR/shown" | diff -u - "$DIR/again" ||
    fail "it means something else"
expect 0 "$CTL" --json config show
same "as JSON" "$(json "$DIR/out" "[r['value'] for r in d
    if r['keyword'] == 'DetachedTtl']")" "['90']"

# Versions.
expect 0 "$CTL" version
version=$(sed 's/^execsrvctl //' "$DIR/out")
expect 0 "$CTL" --json version
same "the version" "$(json "$DIR/out" "d['version']")" "$version"
expect 2 "$CTL" version 1

# The log, by command and by signal.
expect 0 "$CTL" reopen-logs
has_line "$DIR/out" '^logs +reopened$' || fail "no answer"
expect 0 "$CTL" --json reopen-logs
same "the answer" "$(json "$DIR/out" "d")" "{'logs': 'reopened'}"
has_line "$SERVER_LOG" \
    "control: uid $(id -u), pid [0-9]+: reopens the log files" ||
    fail "no audit"
kill -USR1 "$SERVER"
wait_for 10 has_line "$SERVER_LOG" 'SIGUSR1: log files reopened' ||
    fail "SIGUSR1 was not heard"
expect 0 "$CTL" status

# A configuration: as execsrvd -t says it.
printf 'DetachedTtl 30\nListen unix:/x\n' >"$DIR/good"
printf 'Listen unix:/x\nNoSuchKeyword 1\n' >"$DIR/bad"
expect 0 "$CTL" config check "$DIR/good"
same "its words" "$(cat "$DIR/out" "$DIR/err")" "the configuration is valid"
expect 78 "$CTL" config check "$DIR/bad"
has_line "$DIR/err" ':2: unknown keyword "NoSuchKeyword"' ||
    fail "no reason"
cp "$DIR/err" "$DIR/said"
"$EXECSRVD" -t -f "$DIR/bad" 2>"$DIR/server.said"
same "the server's words" "$(cat "$DIR/said")" "$(cat "$DIR/server.said")"
expect 78 "$CTL" --json config check "$DIR/bad"
same "as JSON" "$(json "$DIR/out" "(d['right'], len(d['words']),
    'NoSuchKeyword' in d['words'][0])")" "(False, 1, True)"
expect 0 "$CTL" config check --json "$DIR/good"
same "as JSON" "$(json "$DIR/out" "d")" "{'right': True, 'words': []}"
expect 78 "$CTL" config check "$DIR/nowhere"

# Installed it is in bin, and the server in sbin: not one beside the other.
sbindir=$(sed -n 's/^#define EXECSRV_SBINDIR "\(.*\)"$/\1/p' "$BUILD/config.h")
mkdir "$DIR/bin"
cp "$CTL" "$DIR/bin/"
if [ ! -e "$sbindir/execsrvd" ]; then
	expect 1 "$DIR/bin/execsrvctl" config check "$DIR/good"
	has_line "$DIR/err" "$sbindir/execsrvd: No such file" ||
	    fail "looked for elsewhere: $(cat "$DIR/err")"
fi
# installed COMMAND...: as if execsrvd of the build folder were there.
installed() {
	unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 && "$@"' sh \
	    "$BUILD" "$sbindir" "$@"
}
if [ -d "$sbindir" ] && installed true 2>/dev/null; then
	expect 0 installed "$DIR/bin/execsrvctl" config check "$DIR/good"
	expect 78 installed "$DIR/bin/execsrvctl" config check "$DIR/bad"
	has_line "$DIR/err" ':2: unknown keyword' || fail "no reason"
fi
# In a tree that was moved it is that of the tree.
mkdir -p "$DIR/tree/bin" "$DIR/tree/sbin"
cp "$CTL" "$DIR/tree/bin/"
ln -s "$EXECSRVD" "$DIR/tree/sbin/"
expect 0 "$DIR/tree/bin/execsrvctl" config check "$DIR/good"
expect 2 "$CTL" config
expect 2 "$CTL" config prove
expect 2 "$CTL" config check a b

# On a terminal, and not elsewhere.
python3 - "$SRCDIR/t/sys" "$CTL" <<'END' || fail "looks"
import importlib, re, sys
sys.path.insert(0, sys.argv[1])
lib = importlib.import_module("7common")

def shown(*args, size=(24, 60), **env):
    status, text = lib.Terminal(sys.argv[2], *args, size=size, env=env).end()
    assert status == 0, (status, text)
    return text

text = shown("sessions", "-o", "all")
assert re.fullmatch(rb"\033\[1mSESSION [^\033]{52}\033\[m\r\n", text), text
assert shown("sessions", "-o", "all", NO_COLOR="yes") == \
    re.sub(rb"\033\[1?m", b"", text), "NO_COLOR"
assert shown("sessions", "-o", "all", NO_COLOR="") == text, "an empty NO_COLOR"
assert b"\033" not in shown("sessions", "-o", "all", TERM="dumb"), "a dumb terminal"
assert len(shown("sessions", "-o", "all", size=(24, 20), TERM="dumb")) == 22, "20 columns"
assert shown("status").startswith(b"\033[1mversion\033[m  "), "status"
assert b"\033" not in shown("--json", "status"), "JSON"
END
expect 0 "$CTL" sessions -o all
grep -q "$(printf '\033')" "$DIR/out" && fail "colour in a file"
[ "$(head -n 1 "$DIR/out" | wc -c)" -gt 100 ] || fail "cut in a file"
stop_server

# Clients of a server: why, in a line, and how they are used.
# misused WHY COMMAND ARG...
misused() {
	why=$1
	shift
	"$CTL" "$@" >"$DIR/out" 2>"$DIR/err" && fail "$*: it is taken"
	same "$*" "$(head -n 1 "$DIR/err")" "execsrvctl: $1: $why"
	has_line "$DIR/err" "^usage: execsrvctl $1 " || fail "usage"
	same "lines of $*" "$(wc -l <"$DIR/err")" 2
}
misused "invalid option -- 'x'" run -x
misused "a command is missing" run
misused "too many arguments" attach a b
misused "an argument is missing" cp a
misused "unrecognized option '--foo'" shell --foo
start_server
# refuses STATUS TEXT ARG...: of run.
refuses() {
	wanted=$1 text=$2
	shift 2
	expect "$wanted" "$CTL" run "$@"
	same "why" "$(cat "$DIR/err")" "execsrvctl: $text"
}
refuses 127 "no-such-command: command not found" -- no-such-command
refuses 127 "$DIR/none: No such file or directory" -- "$DIR/none"
refuses 126 "$DIR: Permission denied" -- "$DIR"
refuses 125 "$DIR/none: working directory: No such file or directory" \
    -C "$DIR/none" -- true
refuses 127 "true; true: command not found; a line of a shell is run by: sh -c '...'" \
    -- "true; true"
expect 0 "$CTL" run -i -w / -- pwd
same "its folder" "$(cat "$DIR/out")" /
