#!/bin/sh
# execsrvctl sessions and ps: what is there, in columns and as JSON.
. "${0%/*}/lib.sh"

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
has_line "$DIR/out" '^SESSION +USER +STATE +PEER +CLIENT +AGE ' ||
    fail "no header"
has_line "$DIR/out" "^ +1  $(id -un) +attached .* execsrvctl +[0-9]+s " ||
    fail "no session: $(cat "$DIR/out")"

expect 0 "$CTL" --json sessions
same "one session" "$(json "$DIR/out" "len(d)")" 1
same "what it has" "$(json "$DIR/out" "[d[0][k] for k in
    ('session', 'user', 'state', 'client', 'running', 'in', 'out')]")" \
    "[1, $(id -u), 'attached', 'execsrvctl', 1, 0, 11]"

expect 0 "$CTL" ps
has_line "$DIR/out" '^SESSION +USER +PID +STATE +EXIT +TTY ' ||
    fail "no header"
same "columns are as wide as their widest cell" \
    "$(awk '{ print index($0, NR == 1 ? "COMMAND" : "sh") }' "$DIR/out" |
    uniq | wc -l)" 1

expect 0 "$CTL" --json ps
pid=$(json "$DIR/out" "d[0]['pid']")
is_running "$pid" || fail "no process $pid"
same "what it is" "$(json "$DIR/out" "[d[0][k] for k in
    ('session', 'state', 'exit', 'tty', 'out', 'command')]")" \
    "[1, 'running', None, 'no', 11, 'sh']"

kill -TERM "$run"
wait_for 10 is_gone "$pid" || fail "the process does not end"
wait_for 10 is_gone "$run" || fail "run does not end"
code=0
wait "$run" || code=$?
same "status of run" "$code" 143
wait_for 10 status_is attached 0 || fail "still attached"
