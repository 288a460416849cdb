#!/bin/sh
# 383: execsrvctl cp made 0755 and 0600 to 0644, followed links without end, and
# left half a file when it was interrupted; also with a server that has no
# methods for modes, links and names.
. "${0%/*}/lib.sh"

start_server
unset EXECSRV_URL EXECSRV_TOKEN
A=$DIR/a B=$DIR/b
NS=1234567890.123456789
own=$URL

cp() {
	"$CTL" cp -u "$at" "$@"
}

# Modes, times, names and what links say; not the size of folders.
shape() {
	(cd "$1" && find . -mindepth 1 -printf '%P %y %m %l\n' | sort)
}

# Folders that may not be written are in the way of their removal.
open_up() {
	chmod -R u+rwX "$DIR"
}
at_exit open_up

tree() {
	open_up
	rm -rf "$A" "$B" "$DIR"/down* "$DIR"/up*
	mkdir -p "$A/d/e" "$A/private" "$A/closed" "$B"
	echo run >"$A/run"
	echo secret >"$A/private/key"
	head -c 3000001 /dev/urandom >"$A/d/big"
	chmod 755 "$A/run"
	chmod 600 "$A/private/key"
	chmod 700 "$A/private"
	chmod 640 "$A/d/big"
	echo x >"$A/closed/x"
	chmod 555 "$A/closed"
	if [ "$(id -u)" = 0 ]; then
		echo x >"$A/none"
		mkdir "$A/shut"
		chmod 0 "$A/none" "$A/shut"
	fi
	ln -s ../.. "$A/d/e/up"
	ln -s .. "$A/d/e/up2"
	ln -s ../run "$A/d/to file"
}

modes() {
	tree
	[ "$at" != "$own" ] || ln -s no/where "$A/d/dangling"
	expect 0 cp -r ":$A" "$DIR/down"
	same "down" "$(shape "$DIR/down")" "$(shape "$A")"
	expect 0 cp -r "$A" ":$DIR/up"
	same "up" "$(shape "$DIR/up")" "$(shape "$A")"
	cmp "$A/d/big" "$DIR/up/d/big" || fail "content"
	chmod 755 "$A/closed" "$DIR/down/closed" "$DIR/up/closed"
	# Again over itself: nothing grows, nothing fails.
	expect 0 cp -r "$A/." ":$DIR/up"
	same "up again" "$(shape "$DIR/up")" "$(shape "$A")"
	expect 0 cp -r ":$A/." "$DIR/down"
	same "down again" "$(shape "$DIR/down")" "$(shape "$A")"
}

with_times() {
	tree
	chmod 777 "$A/run"
	touch -hd "@$NS" "$A/run" "$A/d/big" "$A/d/e"
	(umask 077 && cp -rp ":$A" "$DIR/down") || fail "down with -p"
	same "down with -p" "$(shape "$DIR/down")" "$(shape "$A")"
	expect 0 cp -rp "$A" ":$DIR/up"
	same "up with -p" "$(shape "$DIR/up")" "$(shape "$A")"
	for f in run d/big d/e; do
		same "up $f" "$(stat -c %.9Y "$DIR/up/$f")" "$NS"
		same "down $f" "$(stat -c "$1" "$DIR/down/$f")" \
			"$(stat -c "$1" "$A/$f")"
	done
	chmod 755 "$A/closed" "$DIR/down/closed" "$DIR/up/closed"
}

# What is there keeps its mode, a link that was named stays.
replaced() {
	tree
	echo old >"$B/file"
	chmod 604 "$B/file"
	ln -s file "$B/link"
	expect 0 cp "$A/d/big" ":$B/link"
	same "up over a link" "$(stat -c '%a %s' "$B/file")" "604 3000001"
	[ -L "$B/link" ] || fail "the link is gone"
	expect 0 cp ":$A/run" "$B/link"
	same "down over a link" "$(stat -c '%a %s' "$B/file")" "604 4"
	chmod 755 "$A/closed"
}

# Neither way a link that is in the way leads the copy elsewhere.
astray() {
	tree
	mkdir "$DIR/down" "$B/out"
	echo mine >"$B/out/file"
	ln -s "$B/out" "$DIR/down/d"
	ln -s "$B/out/file" "$DIR/down/run"
	expect 1 cp -r ":$A/." "$DIR/down"
	same "outside" "$(ls "$B/out") $(cat "$B/out/file")" "file mine"
	same "in its place" "$(cat "$DIR/down/run")" run
	chmod 755 "$A/closed" "$DIR/down/closed"
}

# Into itself, on one machine: said, and there is an end.
itself() {
	tree
	expect 1 cp -r "$A" ":$A/sub"
	grep -q 'into itself' "$DIR/err" || fail "up: $(cat "$DIR/err")"
	[ ! -e "$A/sub/sub/sub" ] || fail "it grows"
	open_up
	rm -rf "$A/sub"
	expect 1 cp -r ":$A" "$A/sub"
	grep -q 'into itself' "$DIR/err" || fail "down: $(cat "$DIR/err")"
	chmod 755 "$A/closed" "$A/sub/closed"
}

aside() {
	find "$B" -name '.execsrv-*' -size +0
}
begun() {
	[ -n "$(aside)" ]
}

# Interrupted: what was there is there, whole.
interrupted() {
	tree
	mkfifo "$DIR/pipe$1"
	echo whole >"$B/file"
	"$CTL" cp -u "$at" "$DIR/pipe$1" ":$B/file" 2>"$DIR/err" &
	pid=$!
	exec 8>"$DIR/pipe$1"
	head -c 3000000 /dev/urandom >&8
	wait_for 1 begun || fail "nothing under way"
	kill "-$1" "$pid"
	exec 8>&-
	wait "$pid"
	status=$?
	[ "$status" -gt 128 ] || fail "$1: ended with $status"
	same "$1" "$(cat "$B/file")" whole
	[ "$1" = KILL ] || same "left over" "$(ls -A "$B")" file
	chmod 755 "$A/closed"
}

all() {
	modes
	with_times "$1"
	replaced
	astray
	itself
	interrupted HUP
	interrupted TERM
	interrupted KILL
	rm -f "$DIR"/pipe*
}

# Nor has a command there: what is not for all stays here, or is the owner's.
without_shell() {
	tree
	expect 1 cp "$A/private/key" ":$B/key"
	[ ! -e "$B/key" ] || fail "a private file is there"
	expect 1 cp -r "$A/private" ":$B/private"
	[ ! -e "$B/private" ] || fail "a private folder is there"
	echo all >"$A/all"
	expect 0 cp "$A/all" ":$B/all"
	same "up, for all" "$(cat "$B/all")" all
	expect 0 cp ":$A/run" "$B/run"
	same "down" "$(stat -c %a "$B/run") $(cat "$B/run")" "600 run"
}

at=$own
all %.9Y

# Servers that do not know it.
has_url() {
	[ -s "$DIR/other" ]
}
without() {
	: >"$DIR/other"
	python3 "${0%/*}/3without.py" "$1" >"$DIR/other" &
	at_exit "kill $!"
	wait_for 1 has_url || fail "no way to the server"
	at=$(cat "$DIR/other")
}
without "$own"
all %Y
stop_server
start_server -o MaxProcesses=0
without "$URL"
without_shell
