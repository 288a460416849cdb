#!/bin/sh
# execsrvctl run --detach, attach, shell, --sandbox.
. "${0%/*}/lib.sh"

start_server -o DetachedTtl=1 -o ClosedProcessTtl=1

told() {
	cat "$DIR/out"
}

# are NUMBER STATE: so many sessions are in it.
are() {
	"$CTL" sessions --json >"$DIR/sessions" && [ "$(json "$DIR/sessions" \
	    "sum(s['state'] == '$2' for s in d)")" -eq "$1" ]
}

# eventually WHAT COMMAND...
eventually() {
	what=$1
	shift
	wait_for 20 "$@" || fail "not in time: $what"
}

# It goes on without us, longer than others are kept; nothing of it is lost, and
# its status comes with whoever is there at the end.
mkfifo "$DIR/go"
# shellcheck disable=SC2016
expect 0 "$CTL" run --detach -e A=b -- \
    sh -c 'echo "one $A"; read x <"$0"; echo two; exit 7' "$DIR/go"
session=$(told)
same "one line" "$(wc -l <"$DIR/out")" 1
expect 0 "$CTL" run -d sleep 1000
other=$(told)
"$CTL" attach "$session" >"$DIR/attached" 2>"$DIR/attached.err" &
pid=$!
eventually "what it said before" grep -q 'one b' "$DIR/attached"
# Nobody else gets in meanwhile.
expect 125 "$CTL" attach "$session"
echo go >"$DIR/go"
wait "$pid"
same "status" "$?" 7
same "output" "$(cat "$DIR/attached")" "one b
two"
# With the end of all that ran in it the session is over.
expect 125 "$CTL" attach "$session"
expect 125 "$CTL" attach 00000000-0000-0000-0000-000000000000

# What has ended is kept for whoever asks.
# shellcheck disable=SC2016
expect 0 "$CTL" run --detach -- sh -c 'until [ -e "$0.go" ]; do
	sleep 0.05; done; seq 100000; touch "$0"; exit 3' "$DIR/said"
session=$(told)
touch "$DIR/said.go"
eventually "its last word" test -e "$DIR/said"
expect 3 "$CTL" attach "$session/p1"
seq 100000 | cmp - "$DIR/out" || fail "not what it said"

# One that said nothing as well, with its status.
# shellcheck disable=SC2016
expect 0 "$CTL" run --detach -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done
	exit 5' "$DIR/end"
session=$(told)
touch "$DIR/end"
has_ended() {
	"$CTL" ps "$session" >"$DIR/ps" && has_line "$DIR/ps" closed
}
eventually "it ends" has_ended
# So long that it would be forgotten if it were not for that.
sleep 2.5
expect 5 "$CTL" attach "$session/p1"

# By its number, or the beginning of its id.
"$CTL" attach "${other%%-*}/p1" &
pid=$!
eventually "attached by the beginning" are 1 attached
kill -HUP "$pid"
wait "$pid" || fail "left with $?"
eventually "left" are 0 attached
# shellcheck disable=SC2016
expect 0 "$CTL" run -d -- sh -c 'read x <"$0"; exit 4' "$DIR/go"
session=$(told)
ask "$DIR/sessions" sessions --json
number=$(json "$DIR/sessions" \
    "[s['session'] for s in d if s['id'] == '$session'][0]")
expect 125 "$CTL" attach --url "$URL" "1$number$number"
"$CTL" attach --url "$URL" "$number" &
pid=$!
eventually "attached by its number, by URL" are 1 attached
kill -HUP "$pid"
wait "$pid" || fail "left with $?"
eventually "left" are 0 attached
"$CTL" attach "$number" &
pid=$!
eventually "attached by its number" are 1 attached
echo go >"$DIR/go"
wait "$pid"
same "status" "$?" 4
is_over() {
	! "$CTL" show "$number" >/dev/null 2>&1
}
eventually "its end" is_over
expect 125 "$CTL" attach "$number"
same "which" "$(cat "$DIR/err")" "execsrvctl: no such session: $number"

# Left again by a signal, by name, and with all of one session's processes.
"$CTL" attach "$other" &
pid=$!
eventually "attached" are 1 attached
kill -HUP "$pid"
wait "$pid" || fail "left with $?"
eventually "left" are 0 attached
expect 125 "$CTL" attach "$other/p2"
grep -q "p2: no such process" "$DIR/err" || fail "says: $(cat "$DIR/err")"
"$CTL" attach "$other" &
pid=$!
eventually "attached" are 1 attached
kill -TERM "$pid"
wait "$pid"
same "a signal goes to the command" "$?" 143

# Start errors are told at once.
expect 127 "$CTL" run --detach no-such-program
same "nothing to attach to" "$(told)" ""

# A terminal: keys that leave it alone.
# shellcheck disable=SC2016
expect 0 "$CTL" run -dt -- sh -c 'stty -echo; while read -r a; do
	[ "$a" != end ] || exit 9; echo "<$a>"; done'
session=$(told)
mkfifo "$DIR/keys"
"$CTL" attach "$session" <"$DIR/keys" >"$DIR/attached" 2>&1 &
pid=$!
exec 4>"$DIR/keys"
eventually "attached" are 1 attached
printf 'a\020b\n' >&4
eventually "a key alone is the command's" grep -q 'a.*b>' "$DIR/attached"
printf 'lost\020' >&4
printf '\021' >&4
wait "$pid" || fail "left with $?"
exec 4>&-
eventually "left" are 0 attached
"$CTL" attach "$session" <"$DIR/keys" >"$DIR/attached" 2>&1 &
pid=$!
exec 4>"$DIR/keys"
eventually "again" are 1 attached
printf '\nend\n' >&4
wait "$pid"
same "status" "$?" 9
exec 4>&-

# Options of other commands.
expect 125 "$CTL" -q run -- true
expect 125 "$CTL" --json run -- true
expect 125 "$CTL" --json attach "$session"
expect 125 "$CTL" shell -- echo hi
grep -q '^usage: execsrvctl shell \[OPTION' "$DIR/err" || fail "usage"

# A login shell.
# shellcheck disable=SC2016
echo 'echo "in $0"; exit 5' | expect 5 "$CTL" shell --cwd /
same "the user's" "$(told)" "in $(getent passwd "$(id -u)" | cut -d: -f7)"

# Sandboxes.
mkdir "$DIR/work"
cd "$DIR/work" || exit 1
if "$CTL" run --sandbox read-only -- true 2>/dev/null; then
	expect 1 "$CTL" run --sandbox read-only -- sh -c 'echo >x || exit 1'
	expect 0 "$CTL" run --sandbox workspace-write -- sh -c 'echo >x'
	[ -f x ] || fail "not written"
	expect 1 "$CTL" run --sandbox workspace-write -- \
	    sh -c 'echo >/usr/x || exit 1'
fi
expect 0 "$CTL" run --sandbox none -- true
expect 125 "$CTL" run --sandbox some -- true
