#!/bin/sh
# execsrvctl run: output, exit status, environment, folder.
. "${0%/*}/lib.sh"

start_server
for how in "" "--url $URL"; do
	# shellcheck disable=SC2086
	expect 7 "$CTL" run $how -- sh -c 'echo out; echo err >&2; exit 7'
	same output "$(cat "$DIR/out")" out
	same error "$(cat "$DIR/err")" err
done
CODEX_EXEC_SERVER_URL=$URL expect 0 "$CTL" -R "$DIR/nowhere" run true
expect 0 "$CTL" run --url "$URL/?a=b" true

# Exact bytes, however many.
"$CTL" run -- head -c 20000000 /dev/zero >"$DIR/zeros" || fail "zeros"
head -c 20000000 /dev/zero | cmp - "$DIR/zeros" || fail "not the same zeros"
rm "$DIR/zeros"

# How it ends.
expect 0 "$CTL" run -- true
expect 255 "$CTL" run -- sh -c 'exit 255'
# shellcheck disable=SC2016
expect 137 "$CTL" run -- sh -c 'kill -KILL $$'
# shellcheck disable=SC2016
expect 134 "$CTL" run -- sh -c 'ulimit -c 0; kill -ABRT $$'
expect 127 "$CTL" run -- no-such-program
same "one line" "$(wc -l <"$DIR/err")" 1
expect 127 "$CTL" run -- /no/such/program
expect 126 "$CTL" run -- /etc/passwd
expect 126 "$CTL" run -- /
expect 125 "$CTL" run --cwd /no/such/folder -- true
expect 125 "$CTL" run --cwd relative -- true
expect 125 "$CTL" run --url ws://nowhere:1 -- true
expect 125 "$CTL" run --url ws://127.0.0.1:1 -- true
expect 125 "$CTL" run --url "unix:$DIR/nowhere" -- true
expect 125 "$CTL" run --nonsense
expect 125 "$CTL" run
expect 125 "$CTL" run -- printf "$(printf '\377')"

# Arguments are taken as they are; options end at the command.
expect 0 "$CTL" run printf '%s|' -e "a b" "" '$x' 'é"\' "$(printf 'a\nb')"
same arguments "$(cat "$DIR/out")" "-e|a b||\$x|é\"\\|$(printf 'a\nb')|"

# The environment of the server, and what is said here.
# shellcheck disable=SC2016
HERE=there expect 0 "$CTL" run -e A=1 -e HERE -e NOT_HERE -e A=2=3 -- \
    sh -c 'echo "$A $HERE ${NOT_HERE-none} ${TERM-none} ${PATH:+path}"'
same environment "$(cat "$DIR/out")" "2=3 there none ${TERM-none} path" ||
    same environment "$(cat "$DIR/out")" "2=3 there none none path"
for bad in =x ''; do
	expect 125 "$CTL" run -e "$bad" -- true
	has_line "$DIR/err" 'expected NAME or NAME=VALUE' || fail "-e '$bad'"
done

# The folder we are in, or another.
mkdir "$DIR/a folder"
(cd "$DIR/a folder" && expect 0 "$CTL" run -- pwd -P &&
    same folder "$(cat "$DIR/out")" "$(pwd -P)") || exit 1
expect 0 "$CTL" run --cwd / -- pwd
same folder "$(cat "$DIR/out")" /

# By a Unix socket, found by the daemon's own word.
stop_server
start_server --listen "unix:$DIR/socket"
expect 3 "$CTL" run -- sh -c 'exit 3'
expect 4 "$CTL" run --url "unix:$DIR/socket" -- sh -c 'exit 4'
