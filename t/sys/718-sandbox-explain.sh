#!/bin/sh
# execsrvctl sandbox explain: a file, standard input, a request; and what is
# none of these.
. "${0%/*}/lib.sh"

cat >"$DIR/object" <<'END'
{"permissions":{"type":"managed","network":"restricted","file_system":{"type":
"restricted","entries":[
{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},
{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"deny"},
{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"deny"},
{"path":{"type":"glob_pattern","pattern":"/x/*"},"access":"deny"}],
"glob_scan_max_depth":2}},"windowsSandboxLevel":"disabled"}
END
expect 0 "$CTL" sandbox explain --cwd /w/ --tmpdir /t "$DIR/object"
same "its lines" "$(cat "$DIR/out")" "read /
deny /t
deny /w
hide /x/* depth 2
network off"

# Nothing of ours stands in where the object has nothing.
expect 1 "$CTL" sandbox explain "$DIR/object"
has_line "$DIR/err" 'need cwd' || fail "no reason: $(cat "$DIR/err")"
TMPDIR=/t "$CTL" sandbox explain --cwd /w - <"$DIR/object" >"$DIR/lines" ||
    fail "standard input"
has_line "$DIR/lines" '^deny /t$' && fail "TMPDIR of execsrvctl counts"

# A request: its own cwd, unless told otherwise.
printf '{"id":1,"method":"process/start","params":{"cwd":"file:///p","sandbox":%s}}' \
    "$(cat "$DIR/object")" >"$DIR/request"
expect 0 "$CTL" --json sandbox explain "$DIR/request"
same "lines" "$(wc -l <"$DIR/out")" 1
same "rules" "$(json "$DIR/out" \
    "[(r['rule'], r['path'], r['if_exists']) for r in d['rules']]")" \
    "[('read', '/', False), ('deny', '/p', False), ('hide', '/x/*', False)]"
same "the rest" "$(json "$DIR/out" "[d[k] for k in \
('reads_all', 'writes_all', 'network', 'glob_depth')]")" \
    "[False, False, False, 2]"
expect 0 "$CTL" sandbox explain --cwd /q --json "$DIR/request"
same "another folder" "$(json "$DIR/out" "d['rules'][1]['path']")" /q

# No sandbox is not one that allows everything.
echo '{"method":"fs/readFile","params":{"path":"file:///"}}' >"$DIR/without"
expect 0 "$CTL" sandbox explain "$DIR/without"
same "without" "$(cat "$DIR/out")" "no sandbox"
echo '{"sandbox":null}' >"$DIR/without"
expect 0 "$CTL" sandbox explain --json "$DIR/without"
same "null" "$(cat "$DIR/out")" null

# Native paths are for older servers.
echo '{"type":"workspace-write","writable_roots":["/o"],
"exclude_slash_tmp":true}' >"$DIR/april"
expect 1 "$CTL" sandbox explain --cwd /w "$DIR/april"
expect 0 "$CTL" sandbox explain --cwd /w --native-paths "$DIR/april"
has_line "$DIR/out" '^write /o$' || fail "a native path"

for text in '' '{' '[]' '5' '{},{}' '{"a":1}' '{"sandbox":5}' \
    '{"sandbox":{}}' "$(printf '"\377"')"; do
	printf '%s' "$text" >"$DIR/bad"
	expect 1 "$CTL" sandbox explain "$DIR/bad"
	same "output for $text" "$(cat "$DIR/out")" ""
	same "lines of the complaint" "$(wc -l <"$DIR/err")" 1
done
expect 1 "$CTL" sandbox explain "$DIR/nowhere"
expect 1 "$CTL" sandbox explain "$DIR"
expect 2 "$CTL" sandbox
expect 2 "$CTL" sandbox refute "$DIR/object"
expect 2 "$CTL" sandbox explain
expect 2 "$CTL" sandbox explain "$DIR/object" "$DIR/object"
expect 2 "$CTL" sandbox explain --nothing "$DIR/object"
if [ -w /dev/full ]; then
	"$CTL" sandbox explain "$DIR/without" >/dev/full 2>"$DIR/err" &&
	    fail "nobody noticed that the output is lost"
else
	echo "left out: no /dev/full"
fi
exit 0
