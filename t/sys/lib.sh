# shellcheck shell=sh
# What tests of the whole program share.  A test begins with
#
#	#!/bin/sh
#	# what it shows
#	. "${0%/*}/lib.sh"
#
# and then has a folder of its own, $DIR, that vanishes with it, and
# EXECSRV_RUNTIME_DIR below that.  It ends by itself (pass), by fail or by skip;
# all servers it started and all it asked for with at_exit end with it.
#
# Waits are for something to become true, not for time to pass: wait_for.

: "${BUILD:?run it by make check, or with BUILD=build/folder}"
set -u
umask 022

DIR=$(mktemp -d "${TMPDIR:-/tmp}/execsrv-sys.XXXXXX") || exit 1
chmod 755 "$DIR"
EXECSRV_RUNTIME_DIR=$DIR/run
export EXECSRV_RUNTIME_DIR
mkdir -m 755 "$EXECSRV_RUNTIME_DIR"
unset CODEX_EXEC_SERVER_URL

EXECSRVD=$BUILD/execsrvd
CTL=$BUILD/execsrvctl
SCALE=${T_SCALE:-1}

SERVER=		# process id of the server started last
URL=		# and its address
AT_EXIT=

# --- ends -------------------------------------------------------------------

fail() {
	echo "FAIL: $*" >&2
	for log in "$DIR"/server*.log; do
		if [ -s "$log" ]; then
			echo "--- ${log##*/}" >&2
			tail -n 50 "$log" >&2
		fi
	done
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# The last one first, whatever happens in them.
at_exit() {
	AT_EXIT="$*
$AT_EXIT"
}

end_test() {
	status=$?
	trap - EXIT INT TERM HUP
	set +e
	eval "$AT_EXIT"
	rm -rf "$DIR"
	exit "$status"
}

trap end_test EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# ends_here WHY: the rest of this test cannot be run, what came before has passed.
ends_here() {
	echo "left out: $*"
	exit 0
}

# need PROGRAM...: or this test is skipped.
need() {
	for program; do
		command -v "$program" >/dev/null || skip "no $program"
	done
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "not root"
}

# as_user UID COMMAND...: with that uid and gid and no groups (needs root).
as_user() {
	uid=$1
	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
}

# --- waiting ----------------------------------------------------------------

# wait_for SECONDS COMMAND...: until it is true; 1 when the time is over.  A
# machine may stand still for seconds: less than PATIENCE is not waited.
PATIENCE=60
wait_for() {
	turns=$((($1 > PATIENCE ? $1 : PATIENCE) * SCALE * 20))
	shift
	until "$@"; do
		turns=$((turns - 1))
		[ "$turns" -gt 0 ] || return 1
		sleep 0.05
	done
}

# is_running PID: a zombie is not.
is_running() {
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	case $stat in
	[ZX]*)	return 1 ;;
	esac
}

is_gone() {
	! is_running "$1"
}

# state_is PID LETTER...: as in ps(1), T is stopped.
state_is() {
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	case $2 in
	*"${stat%% *}"*) return 0 ;;
	esac
	return 1
}

# has_line FILE REGEX (grep -E).
has_line() {
	grep -Eq -- "$2" "$1" 2>/dev/null
}

# Milliseconds, for differences.
now_ms() {
	cut -d ' ' -f 1 /proc/uptime | tr -d . | sed 's/$/0/'
}

# --- the server -------------------------------------------------------------

# start_server [ARG...]: execsrvd -D on a free loopback port, or wherever the
# arguments say when --listen is among them.  Sets SERVER and URL.
start_server() {
	case " $* " in
	*" --listen "*)	;;
	*)		set -- --listen ws://127.0.0.1:0 "$@" ;;
	esac
	servers=$((${servers:-0} + 1))
	server_url=$DIR/server$servers.url
	SERVER_LOG=$DIR/server$servers.log
	"$EXECSRVD" -D "$@" >"$server_url" 2>"$SERVER_LOG" </dev/null &
	SERVER=$!
	at_exit "end_server $SERVER"
	wait_for 60 server_answers || fail "the server is not listening"
	is_running "$SERVER" || fail "the server did not start"
	URL=$(head -n 1 "$server_url")
}

server_answers() {
	is_gone "$SERVER" || has_line "$server_url" '^(ws|unix):' ||
	    { [ ! -s "$server_url" ] && "$CTL" status >/dev/null 2>&1; }
}

# stop_server [SIGNAL]: the one started last, in order: status 0.
stop_server() {
	kill "-${1:-TERM}" "$SERVER" || fail "the server is gone already"
	wait_for 6 is_gone "$SERVER" || fail "the server does not stop"
	code=0
	wait "$SERVER" || code=$?
	[ "$code" -eq 0 ] || fail "the server ended with $code"
}

# Whatever state it is in.
end_server() {
	is_running "$1" || return 0
	kill -CONT "$1" 2>/dev/null
	kill -TERM "$1" 2>/dev/null
	wait_for 6 is_gone "$1" || kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# --- looking ----------------------------------------------------------------

# expect STATUS COMMAND...: it ends so.  Output to $DIR/out and $DIR/err.  A
# daemon or session that stood still is asked again.
expect() {
	wanted=$1
	shift
	for try in 1 2 3 4 5; do
		code=0
		"$@" >"$DIR/out" 2>"$DIR/err" || code=$?
		[ "$code" -ne "$wanted" ] && [ "$try" -lt 5 ] &&
		    has_line "$DIR/err" 'do(es)? not answer' || break
	done
	[ "$code" -eq "$wanted" ] || {
		cat "$DIR/out" "$DIR/err" >&2
		fail "status $code, not $wanted: $*"
	}
}

# ask FILE ARG...: what execsrvctl says to that, in a file; the same.
ask() {
	asked=$1
	shift
	for try in 1 2 3 4 5; do
		"$CTL" "$@" >"$asked" 2>"$DIR/ask.err" && return
		has_line "$DIR/ask.err" 'do(es)? not answer' || break
	done
	fail "execsrvctl $*, asked $try times: $(cat "$DIR/ask.err")"
}

# same WHAT GOT WANTED.
same() {
	[ "$2" = "$3" ] || fail "$1: got '$2', not '$3'"
}

# json FILE EXPRESSION: a Python expression about d, what the file holds.
json() {
	python3 -c 'import json, sys
with open(sys.argv[1]) as file:
    d = json.load(file)
print(eval(sys.argv[2]))' "$1" "$2"
}

# rows_are EXPRESSION COMMAND...: a Python expression about d, what execsrvctl
# says in JSON, is true.  That is left in $DIR/out.
rows_are() {
	expression=$1
	shift
	"$CTL" --json "$@" >"$DIR/out" 2>/dev/null &&
	    [ "$(json "$DIR/out" "bool($expression)" 2>/dev/null)" = True ]
}

# status_of NAME: a line of "execsrvctl status".
status_of() {
	"$CTL" status 2>/dev/null | sed -n "s/^$1  *//p"
}

status_is() {
	[ "$(status_of "$1")" = "$2" ]
}
