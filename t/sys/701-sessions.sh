#!/bin/sh
# execsrvctl sessions and ps: what is there, in columns and as JSON.
. "${0%/*}/lib.sh"
need pgrep

start_server
expect 0 "$CTL" sessions
same "header alone" "$(wc -l <"$DIR/out")" 1
expect 0 "$CTL" --json ps
same "no processes" "$(cat "$DIR/out")" "[]"

"$CTL" run -- sh -c 'echo 0123456789; exec sleep 1000' >"$DIR/run.out" 2>&1 &
run=$!
at_exit "kill -KILL $run 2>/dev/null"
wait_for 10 has_line "$DIR/run.out" 0123456789 || fail "no output"
# The master hears of it soon.
wait_for 10 rows_are "d[0]['running'] == 1 and d[0]['out'] == 11" sessions ||
    fail "no session: $(cat "$DIR/out")"

expect 0 "$CTL" sessions
has_line "$DIR/out" '^SESSION +USER +STATE +AGE +RUNNING +CPU +RSS +CLIENT +PEER$' ||
    fail "no header"
has_line "$DIR/out" "^ +1  $(id -un) +attached +[0-9]+s +1 +[0-9.]+s +[0-9.]+[KM]? +execsrvctl " ||
    fail "no session: $(cat "$DIR/out")"

expect 0 "$CTL" --json sessions
same "one session" "$(json "$DIR/out" "len(d)")" 1
same "what it has" "$(json "$DIR/out" "[d[0][k] for k in
    ('session', 'user', 'state', 'client', 'running', 'in', 'out')]")" \
    "[1, $(id -u), 'attached', 'execsrvctl', 1, 0, 11]"

expect 0 "$CTL" ps
has_line "$DIR/out" '^SESSION +USER +PID +STATE +EXIT +AGE +COMMAND +PROCESS$' ||
    fail "no header"
same "columns are as wide as their widest cell" \
    "$(awk '{ print index($0, NR == 1 ? "COMMAND" : "sh") }' "$DIR/out" |
    uniq | wc -l)" 1

expect 0 "$CTL" --json ps
pid=$(json "$DIR/out" "d[0]['pid']")
is_running "$pid" || fail "no process $pid"
same "what it is" "$(json "$DIR/out" "[d[0][k] for k in
    ('session', 'state', 'exit', 'tty', 'out', 'command')]")" \
    "[1, 'running', None, False, 11, 'sh']"

# ps(1) tells whose session a worker is, and what the others are for.
expect 0 "$CTL" sessions -o worker --no-header
worker=$(tr -d ' ' <"$DIR/out")
title=$(tr -d '\0' <"/proc/$worker/cmdline")
[ "$title" = "execsrv-worker: $(id -un) session 1" ] ||
    [ "$title" = "execsrv-worker: uid $(id -u) session 1" ] ||
    fail "its title: $title"
titles=$(for p in $(pgrep -x execsrv-worker); do
	tr '\0' '\n' <"/proc/$p/cmdline" 2>/dev/null | head -n 1
done)
for what in template spare; do
	echo "$titles" | grep -qx "execsrv-worker: $what" || fail "no $what"
done

# Rows and columns that are wanted.
expect 0 "$CTL" ps -o all
has_line "$DIR/out" '^SESSION +USER +PID +STATE +EXIT +TTY +AGE +OUT ' ||
    fail "not all columns: $(cat "$DIR/out")"
expect 0 "$CTL" ps -o command,pid --no-header
same "two columns" "$(cat "$DIR/out")" "sh       $pid"
expect 0 "$CTL" --json ps -o pid
same "one, as JSON" "$(cat "$DIR/out")" "[{\"pid\":$pid}]"
expect 2 "$CTL" ps -o pid,nothing
has_line "$DIR/err" 'no column "nothing"; there are session,user,pid,state' ||
    fail "$(cat "$DIR/err")"
for args in "--user $(id -un)" "--user $(id -u)" "--state running"; do
	# shellcheck disable=SC2086 # words
	expect 0 "$CTL" ps $args -o pid --no-header
	same "with $args" "$(cat "$DIR/out")" "$pid"
done
for args in "--user nobody" "--state exited"; do
	# shellcheck disable=SC2086 # words
	expect 0 "$CTL" ps $args --no-header
	same "with $args" "$(cat "$DIR/out")" ""
done
"$CTL" run -d -- sleep 1000 >"$DIR/id" || fail "run -d"
wait_for 10 rows_are "len(d) == 2" sessions || fail "not two"
order() {
	expect 0 "$CTL" sessions --sort "$1" -o session --no-header
	tr -s ' \n' ' ' <"$DIR/out"
}
same "sorted" "$(order session)" " 1 2 "
same "downwards" "$(order -session)" " 2 1 "
expect 2 "$CTL" sessions --sort nothing
for command in sessions ps kill; do
	expect 1 "$CTL" "$command" --user "no such user"
	same "why" "$(cat "$DIR/err")" "execsrvctl: no such user: no such user"
done
expect 0 "$CTL" sessions --user 4294967290 --no-header
same "of nobody" "$(cat "$DIR/out")" ""

# The end of a session, and of a process, with its status.
"$CTL" wait 2 p1 &
waits=$!
"$CTL" wait 2 &
both=$!
expect 0 "$CTL" signal 2 p1 STOP
wait_for 10 rows_are "d[0]['state'] == 'stopped' and d[0]['exit'] is None" ps 2 ||
    fail "not stopped: $(cat "$DIR/out")"
expect 0 "$CTL" signal 2 p1 CONT
wait_for 10 rows_are "d[0]['state'] == 'running'" ps 2 || fail "not running"
is_running "$waits" || fail "a stopped process has ended"
expect 0 "$CTL" signal 2 p1 TERM
code=0
wait "$waits" || code=$?
same "status of the process" "$code" 143
is_running "$both" || fail "the session is still there"
expect 0 "$CTL" kill --user "$(id -un)" --json
wait "$both" || fail "status $? of the session"
expect 1 "$CTL" wait 2
has_line "$DIR/err" 'no such session: 2$' || fail "$(cat "$DIR/err")"

wait_for 10 is_gone "$pid" || fail "the process does not end"
wait_for 10 is_gone "$run" || fail "run does not end"
wait_for 10 status_is attached 0 || fail "still attached"
