#!/bin/sh
# execsrvctl audit, watch and logs; commands that are shortened.
. "${0%/*}/lib.sh"

# count FILE REGEX WANTED
count() {
	same "how many $2" "$(grep -cE -- "$2" "$1")" "$3"
}

# --- names of commands
expect 2 "$CTL" re
has_line "$DIR/err" '^execsrvctl: re: which one: ready, reload, reopen-logs\?$' ||
    fail "$(cat "$DIR/err")"
expect 0 "$CTL" vers
has_line "$DIR/out" '^execsrvctl [0-9]' || fail "no version"
expect 0 "$CTL" help stat
has_line "$DIR/out" '^usage: execsrvctl status$' || fail "no help"
expect 2 "$CTL" ""
for wrong in "audit -n 0" "audit -n x" "logs" "logs -f --since 1h 1" "watch -f" \
    "sessions -n 1" "status --since 1h" "audit --since x" \
    "audit --since 1parsec" "logs --since 25:00 1" "ps --event x"; do
	# shellcheck disable=SC2086
	expect 2 "$CTL" $wrong
done

# --- files
cat >"$DIR/log" <<'.'
{"time":"2026-01-31T10:00:00.100Z","run":"00112233445566ff","seq":1,"event":"server-started","version":"1","pid":7}
{"time":"2026-01-31T10:00:01.000Z","run":"00112233445566ff","seq":2,"event":"session-opened","session":1,"identity":"uid:4294967290","uid":4294967290,"user":"ann","client":"a b\"c","peer":"127.0.0.1:1","listener":"ws://127.0.0.1:1"}
{"time":"2026-01-31T10:00:02.000Z","run":"00112233445566ff","seq":3,"event":"process-started","session":1,"uid":4294967290,"user":"ann","pid":8,"arguments":["sh","-c","echo \u001b[31m"],"terminal":false}
not a line of it
{"time":"2026-01-31T12:00:00.000Z","run":"00112233445566ff","seq":4,"event":"control","by_uid":4294967291,"by_user":"bob","command":"kill","session":1,"uid":4294967290,"user":"ann","result":"done"}
{"time":"2026-01-31T12:00:01.000Z","run":"00112233445566ff","seq":5,"event":"session-opened","session":12,"uid":4294967292}
.
TZ=UTC
export TZ
expect 0 "$CTL" audit "$DIR/log"
same "the second" "$(sed -n 2p "$DIR/out")" "2026-01-31 10:00:01 \
session-opened   session=1 identity=uid:4294967290 user=ann client=\"a b\\\"c\" \
peer=127.0.0.1:1 listener=ws://127.0.0.1:1"
same "arguments" "$(sed -n 3p "$DIR/out")" "2026-01-31 10:00:02 \
process-started  session=1 user=ann pid=8 arguments=[sh -c \"echo ?[31m\"] \
terminal=false"
count "$DIR/out" . 5
count "$DIR/out" 'user=4294967292' 1
expect 0 "$CTL" audit --user ann "$DIR/log"
count "$DIR/out" . 3
expect 0 "$CTL" audit --user bob "$DIR/log"
count "$DIR/out" . 1
expect 0 "$CTL" audit --user 4294967292 "$DIR/log"
count "$DIR/out" . 1
expect 0 "$CTL" audit --session 1 --event session-opened "$DIR/log"
count "$DIR/out" . 1
expect 0 "$CTL" audit --since "2026-01-31 12:00" "$DIR/log"
count "$DIR/out" . 2
expect 0 "$CTL" audit --since 2026-01-31T12:00:01Z "$DIR/log"
count "$DIR/out" . 1
TZ=UTC-2 expect 0 "$CTL" audit --since "2026-01-31 14:00:01" "$DIR/log"
count "$DIR/out" '^2026-01-31 14:00:01' 1
expect 0 "$CTL" audit --since 1w "$DIR/log"
count "$DIR/out" . 0
expect 0 "$CTL" audit -n 2 "$DIR/log" "$DIR/log"
count "$DIR/out" . 4
expect 0 "$CTL" audit --json -n 1 - <"$DIR/log"
same "as it stands there" "$(cat "$DIR/out")" "$(tail -n 1 "$DIR/log")"
expect 1 "$CTL" audit "$DIR/none" "$DIR/log"
has_line "$DIR/err" "^execsrvctl: $DIR/none: No such file" || fail "no reason"
count "$DIR/out" . 5

# --- of a daemon
start_server
expect 1 "$CTL" audit
has_line "$DIR/err" 'keeps no audit log in a file \(AuditLog\)' || fail "no reason"
stop_server
start_server -o "AuditLog=$DIR/audit" -o Transcript=all -o "TranscriptDir=$DIR/tr"
"$CTL" watch >"$DIR/watched" 2>&1 &
watch=$!
at_exit "kill $watch 2>/dev/null"
"$CTL" audit -f --event session-opened >"$DIR/followed" 2>&1 &
follow=$!
at_exit "kill $follow 2>/dev/null"
# watches: whether it is there already, an event tells.
watches() {
	"$CTL" kill 4242 >/dev/null 2>&1
	has_line "$DIR/watched" 'control .*asked=4242'
}
wait_for 10 watches || fail "nothing is watched: $(cat "$DIR/watched")"
cd "$DIR" || exit 1
expect 7 "$CTL" run -- sh -c 'echo one; echo two; echo three; exit 7'
wait_for 10 has_line "$DIR/watched" "session-ended +session=1 .* why=\"closed by its client\"" ||
    fail "no end: $(cat "$DIR/watched")"
has_line "$DIR/watched" \
    "session-opened +session=1 .* user=$(id -un) client=execsrvctl " ||
    fail "no beginning: $(cat "$DIR/watched")"
has_line "$DIR/watched" "process-started +session=1 .* cwd=\"?$DIR\"? " ||
    fail "no command: $(cat "$DIR/watched")"
has_line "$DIR/watched" "process-ended +session=1 .* exit=7 " ||
    fail "no end of it: $(cat "$DIR/watched")"
expect 0 "$CTL" audit --session 1
same "the same as was watched" "$(cat "$DIR/out")" \
    "$(grep ' session=1 ' "$DIR/watched")"
wait_for 10 has_line "$DIR/followed" ' session=1 ' || fail "it does not follow"
mv "$DIR/audit" "$DIR/audit.1"
expect 0 "$CTL" reopen-logs
expect 0 "$CTL" run -- true
wait_for 10 has_line "$DIR/followed" ' session=2 ' || fail "it follows the old one"
count "$DIR/followed" . 2

# --- what is kept
expect 0 "$CTL" logs 1
same "of one that has ended" "$(cat "$DIR/out")" "one
two
three"
expect 0 "$CTL" logs -n 2 1
same "two lines" "$(cat "$DIR/out")" "two
three"
expect 0 "$CTL" logs --since 1h 1 p1
count "$DIR/out" . 3
expect 0 "$CTL" logs --since 2099-01-01 1
count "$DIR/out" . 0
expect 0 "$CTL" logs 1 nobody
count "$DIR/out" . 0
expect 1 "$CTL" logs 77
# kept ID FILE REGEX
kept() {
	"$CTL" logs "$1" p1 >"$DIR/out" 2>"$DIR/err" && has_line "$2" "$3"
}
id=$("$CTL" run -d -- sh -c 'echo b >&2; exec sleep 1000')
wait_for 10 kept "$id" "$DIR/err" b || fail "no errors: $(cat "$DIR/out" "$DIR/err")"
same "errors" "$(cat "$DIR/err")" b
same "no output" "$(cat "$DIR/out")" ""
id=$("$CTL" run -d -- sh -c 'echo a; echo b; printf c; exec sleep 1000')
wait_for 10 kept "$id" "$DIR/out" c || fail "no output: $(cat "$DIR/out" "$DIR/err")"
same "output" "$(cat "$DIR/out")" "a
b
c"
expect 0 "$CTL" logs -n 1 "$id" p1
same "the last line" "$(cat "$DIR/out" "$DIR/err")" c
"$CTL" logs -f -n 1 "$id" >"$DIR/tail" 2>&1 &
tail=$!
wait_for 10 has_line "$DIR/tail" c || fail "it does not follow"
for command in logs tail kill; do
	expect 1 "$CTL" "$command" "$id" nobody
	same "why" "$(cat "$DIR/err")" "execsrvctl: no such process: nobody"
done
expect 0 "$CTL" kill "$id"
wait_for 10 is_gone "$tail" || fail "it does not end"
stop_server
wait_for 10 is_gone "$watch" || fail "it watches nothing"

# Without transcripts; other users.
start_server
id=$("$CTL" run -d -- sh -c 'echo a; echo b; exec sleep 1000')
has_both() {
	"$CTL" logs "$id" >"$DIR/out" 2>&1 && has_line "$DIR/out" b
}
wait_for 10 has_both || fail "no output: $(cat "$DIR/out")"
expect 1 "$CTL" logs --since 1h "$id"
has_line "$DIR/err" 'wants a session with transcripts' || fail "no reason"
[ "$(id -u)" -eq 0 ] || ends_here "not root"
command -v setpriv >/dev/null || ends_here "no setpriv"
as_user 65534 test -x "$CTL" || ends_here "other users cannot run what was built"
as_user 65534 "$CTL" watch --json >"$DIR/theirs" 2>&1 &
theirs=$!
at_exit "kill $theirs 2>/dev/null"
has_theirs() {
	as_user 65534 "$CTL" run --url "$URL" -- true >/dev/null 2>&1
	has_line "$DIR/theirs" '"session-ended".*"uid":65534'
}
expect 0 "$CTL" run --url "$URL" -- true
wait_for 10 has_theirs || fail "they see nothing: $(cat "$DIR/theirs")"
expect 0 "$CTL" run --url "$URL" -- true
wait_for 10 has_theirs
count "$DIR/theirs" '"uid":0' 0
expect 1 as_user 65534 "$CTL" logs "$id"
has_line "$DIR/err" 'no such session' || fail "$(cat "$DIR/err")"
