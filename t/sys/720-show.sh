#!/bin/sh
# execsrvctl show, ps SESSION: one session, by its number or by the beginning
# of its id.
. "${0%/*}/lib.sh"

start_server
expect 1 "$CTL" show 1
same "why" "$(cat "$DIR/err")" "execsrvctl: no such session: 1"
expect 2 "$CTL" show
expect 2 "$CTL" show 1 2
expect 2 "$CTL" ps 1 2

# begin NAME: a session with a command that runs.
begin() {
	"$CTL" run -- sh -c 'echo ready; exec sleep 1000' >"$DIR/run.$1" 2>&1 &
	at_exit "kill -KILL $! 2>/dev/null"
	wait_for 20 has_line "$DIR/run.$1" ready ||
	    fail "no output: $(cat "$DIR/run.$1")"
}
begin 1
begin 2

wait_for 10 rows_are "[r['running'] for r in d] == [1, 1]" sessions ||
    fail "not two: $(cat "$DIR/out")"
id=$(json "$DIR/out" "[r['id'] for r in d if r['session'] == 2][0]")
same "an id" "$(echo "$id" | tr 0-9a-f x)" \
    "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

expect 0 "$CTL" --json show 2
same "what it is" "$(json "$DIR/out" "[d[k] for k in
    ('session', 'id', 'state', 'user', 'client', 'running', 'uplink')]")" \
    "[2, '$id', 'attached', $(id -u), 'execsrvctl', 1, 0]"
pid=$(json "$DIR/out" "d['processes'][0].split()[0]")
is_running "$pid" || fail "no process $pid"
same "its process" "$(json "$DIR/out" "d['processes']")" \
    "['$pid running sh']"
expect 0 "$CTL" show 2
has_line "$DIR/out" "^id +$id\$" || fail "no id"
has_line "$DIR/out" "^processes +$pid running sh\$" || fail "no process"

# By its id, or by what no other begins with.
for name in "$id" "$(echo "$id" | cut -c 1-13)" "$(echo "$id" |
    cut -c 1-35)"; do
	expect 0 "$CTL" --json show "$name"
	same "the session $name" "$(json "$DIR/out" "d['session']")" 2
done
# Not by too little of it, by more than it is, or by nothing.
for name in "$(echo "$id" | cut -c 1-3)" "${id}0" "" " 2" "2 " 02 +2 -; do
	[ "$name" != 1 ] || continue	# that would be the other one
	expect 1 "$CTL" show -- "$name"
	same "why not '$name'" "$(cat "$DIR/err")" \
	    "execsrvctl: no such session: $name"
done

expect 0 "$CTL" --json ps 2
same "processes of one" "$(json "$DIR/out" \
    "[(r['session'], r['pid']) for r in d]")" "[(2, $pid)]"
process=$(json "$DIR/out" "d[0]['process']")
[ -n "$process" ] || fail "no name of the process"
expect 0 "$CTL" --json ps
same "processes of all" "$(json "$DIR/out" \
    "sorted(r['session'] for r in d)")" "[1, 2]"
expect 1 "$CTL" ps 3

