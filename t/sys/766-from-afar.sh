#!/bin/sh
# Sessions on another server, by its URL: sessions, ps, show, tail, logs, wait,
# signal, kill; attach by the beginning of an id, and --take.
. "${0%/*}/lib.sh"

start_server
HOME=$DIR/home
XDG_CONFIG_HOME=
unset EXECSRV_URL EXECSRV_TOKEN
export HOME XDG_CONFIG_HOME
mkdir -p "$HOME/.config/execsrv"
echo "box $URL" >"$HOME/.config/execsrv/hosts"
HERE=$EXECSRV_RUNTIME_DIR
EXECSRV_RUNTIME_DIR=$DIR/nowhere

# said WORDS: in the errors of the last command.
said() {
	grep -qF -- "$1" "$DIR/err" || fail "not said: $1: $(cat "$DIR/err")"
}

# One that says something and waits.
mkfifo "$DIR/go"
# shellcheck disable=SC2016
expect 0 "$CTL" run -u box -d -- sh -c 'echo one; echo oops >&2; read x <"$0"
	echo two; exit 7' "$DIR/go"
session=$(cat "$DIR/out")
short=$(printf %.8s "$session")

# Without the URL there is no daemon; with it only that session, not our own.
expect 3 "$CTL" sessions
wait_for 20 rows_are "[s['id'] for s in d] == ['$session']" sessions -u box ||
    fail "sessions: $(cat "$DIR/out" "$DIR/err")"
wait_for 20 rows_are "d[0]['state'] == 'detached'" sessions --url "$URL" ||
    fail "not detached: $(cat "$DIR/out")"
EXECSRV_URL=box expect 0 "$CTL" sessions --no-header -o id
same "by a variable" "$(cat "$DIR/out")" "$session"
wait_for 20 rows_are "[(p['process'], p['state'], p['tty']) for p in d] ==
    [('p1', 'running', False)]" ps -u box "$short" ||
    fail "ps: $(cat "$DIR/out")"
expect 0 "$CTL" show -u box "$short"
grep -q "^id  *$session\$" "$DIR/out" || fail "show: $(cat "$DIR/out")"
wait_for 20 grep -q "^running  *1\$" "$DIR/out" || fail "show: running"

# Output.
is_told() {
	"$CTL" tail -u box "$short" p1 >"$DIR/out" 2>"$DIR/err" &&
	    [ "$(cat "$DIR/out" "$DIR/err")" = "one
oops" ]
}
wait_for 20 is_told || fail "tail: $(cat "$DIR/out" "$DIR/err")"
expect 0 "$CTL" tail -u box "$short"
same "tail of the only one" "$(cat "$DIR/out" "$DIR/err")" "one
oops"
expect 0 "$CTL" logs -u box "$short"
same "logs" "$(cat "$DIR/out")" one
expect 0 "$CTL" tail --json -u box "$short" p1
grep -q '"stream":"stderr","chunk":"b29wcwo="' "$DIR/out" ||
    fail "in JSON: $(cat "$DIR/out")"

# Two follow it, one waits; all of them hear of its end.
"$CTL" tail -f -u box "$short" p1 >"$DIR/follow1" 2>/dev/null &
one=$!
"$CTL" wait -u box "$short" p1 &
two=$!
wait_for 20 grep -q one "$DIR/follow1" || fail "tail -f: $(cat "$DIR/follow1")"
echo go >"$DIR/go"
wait "$one" || fail "tail -f ended with $?"
same "followed" "$(cat "$DIR/follow1")" "one
two"
code=0
wait "$two" || code=$?
same "status of wait" "$code" 7

# Attached by the beginning of its id.
EXECSRV_URL=$URL expect 7 "$CTL" attach "$short/p1"
same "its output" "$(cat "$DIR/out")" "one
two"

# Signals and ends.
expect 0 "$CTL" run -u box -d -- sleep 1000
session=$(cat "$DIR/out")
expect 0 "$CTL" signal -u box "$session" p1 TERM
expect 143 "$CTL" wait -u box "$session" p1
expect 0 "$CTL" run -u box -d -- sleep 1000
session=$(cat "$DIR/out")
expect 0 "$CTL" kill -u box "$session" p1
expect 0 "$CTL" run -u box -d -- sleep 1000
session=$(cat "$DIR/out")
expect 0 "$CTL" kill --json -u box "$session"
same "killed" "$(json "$DIR/out" "d['gone'], d['left']")" "(1, 0)"
expect 1 "$CTL" kill -u box "$session"
said "no such session: $session"
expect 1 "$CTL" show -u box 1234567890
said "no such session: 1234567890"
expect 2 "$CTL" status -u box
said "it has no option -u"
expect 1 "$CTL" ps -u nobody
said "nobody: not a URL"

# By the name of a host, which is looked up.
if getent ahostsv4 LOCALHOST | grep -q '^127\.'; then
	expect 0 "$CTL" run -u "ws://LOCALHOST:${URL##*:}" -- echo hi
	same "by a name" "$(cat "$DIR/out")" hi
fi
expect 125 "$CTL" run -u ws://nosuch.invalid:1 -- true
said "ws://nosuch.invalid:1: host not found"
expect 125 "$CTL" run -u "wss://${URL#ws://}" -- true
said "the server does not speak TLS"

# Ours that asked have ended.
none_left() {
	EXECSRV_RUNTIME_DIR=$HERE rows_are "all(s['known'] for s in d)" sessions
}
wait_for 20 none_left || fail "left: $(cat "$DIR/out")"

# From client to client.
expect 0 "$CTL" run -u box -d -- cat
expect 0 "$CTL" kill -u box "$(cat "$DIR/out")"
# shellcheck disable=SC2016
expect 0 "$CTL" run -u box -d -- sh -c 'read x <"$0"; echo done; exit 3' \
    "$DIR/go"
session=$(cat "$DIR/out")
"$CTL" attach -u box "$session" >"$DIR/first" 2>"$DIR/first.err" &
one=$!
wait_for 20 rows_are "'attached' in [s['state'] for s in d]" sessions -u box ||
    fail "not attached"
expect 125 "$CTL" attach -u box "$session"
said "already attached"
said '"attach --take" takes it from its client, "tail -f" shows its output'
"$CTL" attach -u box --take "$session" >"$DIR/second" &
two=$!
code=0
wait "$one" || code=$?
same "whom it was taken from" "$code" 125
same "and what it says" "$(cat "$DIR/first.err")" \
    "execsrvctl: another client has taken the session"
echo go >"$DIR/go"
code=0
wait "$two" || code=$?
same "who took it" "$code" 3
same "has all of it" "$(cat "$DIR/second")" "done"

# Of other users nothing can be seen.
[ "$(id -u)" -eq 0 ] || ends_here "not root"
expect 0 "$CTL" run -u box -d -- sleep 1000
session=$(cat "$DIR/out")
cp "$CTL" "$DIR/ctl" && chmod 755 "$DIR/ctl" "$DIR/home"
as_user 65534 "$DIR/ctl" sessions -u "$URL" --json >"$DIR/out" 2>"$DIR/err" ||
    fail "as another: $(cat "$DIR/err")"
same "sees" "$(cat "$DIR/out")" "[]"
as_user 65534 "$DIR/ctl" kill -u "$URL" "$session" 2>"$DIR/err" &&
    fail "killed by another"
said "no such session: $session"
