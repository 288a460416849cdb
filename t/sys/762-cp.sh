#!/bin/sh
# execsrvctl cp: files and folders, both ways, whole or not at all.
. "${0%/*}/lib.sh"

start_server
unset EXECSRV_URL EXECSRV_TOKEN
A=$DIR/a B=$DIR/b
mkdir "$A" "$B"
head -c 3000001 /dev/urandom >"$A/big"
: >"$A/empty"
echo 'with blanks' >"$A/a name é"

cp() {
	"$CTL" cp "$@"
}

# An error is of the file that it is about: of either side.
said() {
	grep -qF "execsrvctl: $1: " "$DIR/err" ||
	    fail "not of $1: $(cat "$DIR/err")"
}

# Up and down again; into a folder under its name.
for name in big empty 'a name é'; do
	expect 0 cp "$A/$name" ":$B/there"
	cmp "$A/$name" "$B/there" || fail "up: $name"
	expect 0 cp ":$B/there" "$A/back"
	cmp "$A/$name" "$A/back" || fail "down: $name"
done
same "silent" "$(cat "$DIR/out" "$DIR/err")" ""
mkdir "$B/into"
expect 0 cp "$A/big" ":$B/into"
expect 0 cp "$A/empty" ":$B/into/"
expect 0 cp ":$B/into/big" "$B"
cmp "$A/big" "$B/into/big" && cmp "$A/big" "$B/big" || fail "into a folder"
[ -f "$B/into/empty" ] || fail "into a folder, with a slash"
same "temporary files" "$(find "$A" "$B" -name '*.??????')" ""

# Several at once, into a folder only; one that is missing stops no other.
mkdir "$B/many"
expect 0 cp "$A/big" "$A/empty" "$A/a name é" ":$B/many"
for name in big empty 'a name é'; do
	cmp "$A/$name" "$B/many/$name" || fail "several up: $name"
	rm "$B/many/$name"
done
expect 1 cp ":$A/big" ":$A/none" ":$A/a name é" "$B/many"
said "$A/none"
for name in big 'a name é'; do
	cmp "$A/$name" "$B/many/$name" || fail "several down: $name"
done
for to in "$B/missing" "$B/many/big"; do
	expect 1 cp "$A/empty" "$A/a name é" ":$to"
	said "$to"
	expect 1 cp ":$A/empty" ":$A/a name é" "$to"
	said "$to"
done
[ ! -e "$B/missing" ] && cmp "$A/big" "$B/many/big" || fail "several to a file"

# A name that is not UTF-8 goes up; down it cannot be asked for, which is said
# of each, and the rest is copied.
odd=$(printf 'a\377')
mkdir "$DIR/odd" "$B/odd"
echo one >"$DIR/odd/$odd"
echo two >"$DIR/odd/$(printf 'b\376')"
echo three >"$DIR/odd/$(printf 'b\375')"
echo four >"$DIR/odd/plain"
expect 0 cp -r "$DIR/odd" ":$B/odd"
diff -r "$DIR/odd" "$B/odd/odd" || fail "names that are not UTF-8, up"
rm -r "$B/odd/odd"
expect 1 cp -r ":$DIR/odd" "$B/odd"
same "one line for each" "$(grep -c 'its name is not UTF-8' "$DIR/err")" 3
same "no other line" "$(wc -l <"$DIR/err")" 3
same "the rest" "$(ls "$B/odd/odd")" plain
rm -r "$DIR/odd" "$B/odd"

# A slash at the end is a folder's, as with cp(1).
for name in missing there; do
	expect 1 cp "$A/empty" ":$B/$name/"
	grep -qF "$B/$name/: Not a directory" "$DIR/err" || fail "$name/"
	expect 1 cp ":$A/empty" "$B/$name/"
done
[ ! -e "$B/missing" ] && cmp "$A/a name é" "$B/there" || fail "not refused"
expect 0 cp -r "$A" ":$B/missing/"
[ -f "$B/missing/empty" ] || fail "a folder to a name with a slash"

# Modes here: of what was there, or of a new file.
(umask 027 && "$CTL" cp ":$A/big" "$B/new") || fail "new"
same mode "$(stat -c %a "$B/new")" 640
chmod 751 "$B/new"
expect 0 cp ":$A/empty" "$B/new"
same "mode of what was there" "$(stat -c %a,%s "$B/new")" 751,0
ln -s new "$B/link"
expect 0 cp ":$A/big" "$B/link"
[ -L "$B/link" ] && cmp "$A/big" "$B/new" || fail "a link stays one"

# From a pipe, to a pipe.
head -c 100000 "$A/big" | expect 0 cp /dev/stdin ":$B/piped"
head -c 100000 "$A/big" | cmp - "$B/piped" || fail "from a pipe"
"$CTL" cp ":$A/big" /dev/stdout | cmp - "$A/big" || fail "to a pipe"

# Folders.
expect 1 cp "$A" ":$B/tree"
[ ! -e "$B/tree" ] || fail "a folder without -r"
mkdir -p "$A/x/y/z"
echo deep >"$A/x/y/z/f"
ln -s ../big "$A/x/link"
expect 0 cp -r "$A" ":$B/tree"
expect 0 cp -r ":$B/tree" "$DIR/down"
diff -r "$A" "$DIR/down" || fail "not the same tree"
same "a link in a folder" "$(readlink "$DIR/down/x/link")" ../big
expect 0 cp -r "$A/x/." ":$B/into"
[ -f "$B/into/y/z/f" ] || fail "the content of a folder"

# What cannot be copied is said, the rest is copied.
ln -s nowhere "$A/x/broken"
mkfifo "$A/x/fifo"
expect 1 cp -r "$A/x" ":$B/rest"
same "each" "$(grep -c 'fifo: ' "$DIR/err")" 1
[ -f "$B/rest/y/z/f" ] || fail "the rest"
expect 1 cp -r ":$A/x" "$DIR/rest"
[ -f "$DIR/rest/y/z/f" ] || fail "the rest, down"
ln -s . "$A/x/y/loop"
expect 0 cp -r ":$A/x/y" "$DIR/loop"
same "a ring" "$(readlink "$DIR/loop/loop")" .
expect 1 cp "$A/nothing" ":$B/x"
expect 1 cp ":$A/nothing" "$B/x"
expect 1 cp "$A/big" ":$B/no/such/folder"
[ ! -e "$B/x" ] || fail "half a file"
expect 1 cp "$A/big" ":$B/no/such/folder"
said "$B/no/such/folder"
expect 1 cp ":$B/into" /dev/null
said "$B/into"
expect 1 cp ":$A/big" /dev/full
said /dev/full
expect 2 cp "$A/big" "$B/x"
expect 2 cp ":$A/big" ":$B/x"
expect 2 cp "$A/big"
expect 2 cp "$A/big" ":$B/x" ":$B/y"
expect 2 cp ":$A/big" ":$A/empty" ":$B/x"
expect 2 cp ":$A/big" "$A/empty" "$B"
expect 2 cp "one:$A/big" "two:$A/empty" "$B"
expect 2 cp --no-such-option
expect 2 "$CTL" -q cp "$A/big" ":$B/x"
expect 2 "$CTL" --json cp "$A/big" ":$B/x"
[ ! -e "$B/x" ] || fail "copied, with options that it does not have"
expect 1 cp "$A/big" "no-such-name:x"

# Whoever is stopped leaves nothing half done.
mkfifo "$DIR/fifo"
"$CTL" cp ":$A/big" "$B/stopped" &
pid=$!
kill -INT "$pid" 2>/dev/null
wait "$pid"
same "temporary files" "$(find "$B" -name 'stopped.*')" ""

# Paths below the home there.
HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
if [ -w "$HOME" ]; then
	name=.execsrv-test-$$
	at_exit "rm -f '$HOME/$name'"
	expect 0 cp "$A/big" ":$name"
	cmp "$A/big" "$HOME/$name" || fail "below the home"
fi
