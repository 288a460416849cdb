#!/bin/sh
# execsrvctl run: standard input goes through, whole, in order, to its end.
. "${0%/*}/lib.sh"
need sha256sum

start_server
head -c 5242880 /dev/urandom >"$DIR/in"
sum=$(sha256sum <"$DIR/in")
same "a file" "$("$CTL" run -- cat <"$DIR/in" | sha256sum)" "$sum"
# shellcheck disable=SC2002
same "a pipe" "$(cat "$DIR/in" | "$CTL" run -- cat | sha256sum)" "$sum"
same "counted there" "$("$CTL" run -- sha256sum <"$DIR/in")" "$sum"
same "in small pieces" "$(for i in 1 2 3 4 5 6 7 8; do
	printf '%s\n' "$i"
	sleep 0.02
done | "$CTL" run -- tr -d '\n')" 12345678

# None at all, in three ways.
same "an empty file" "$(: | "$CTL" run -- wc -c)" 0
same "/dev/null" "$("$CTL" run -- wc -c </dev/null)" 0
same "closed" "$("$CTL" run -- wc -c <&-)" 0

# A command that does not care for its input is not waited for.
expect 5 "$CTL" run -- sh -c 'exit 5' <"$DIR/in"
expect 0 "$CTL" run -- head -c 1000 <"$DIR/in"
same "what it took" "$(wc -c <"$DIR/out")" 1000
mkfifo "$DIR/silent"
exec 9<>"$DIR/silent"
expect 6 timeout $((60 * SCALE)) "$CTL" run -- sh -c 'exit 6' <"$DIR/silent"
exec 9>&-

# A command that does not read: no more is read here than some chunks.
mkfifo "$DIR/fifo"
"$CTL" run -- sleep 1000 <"$DIR/fifo" &
run=$!
at_exit "kill -KILL $run 2>/dev/null"
python3 - "$DIR/fifo" <<'END' || fail "input is read without end"
import os, select, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
os.set_blocking(fd, False)
sent = 0
while sent < 200 << 20 and select.select([], [fd], [], 2)[1]:
    sent += os.write(fd, bytes(65536))
print(sent, 'bytes taken')
sys.exit(sent >= 100 << 20)
END
kill -TERM "$run"
wait_for 10 is_gone "$run" || fail "a signal does not pass the input"
