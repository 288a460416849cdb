#!/bin/sh
# The recipes of execsrv(7) are configurations that execsrvd takes.
. "${0%/*}/lib.sh"
need awk
user=$(id -un)
[ "$(id -u)" -ne 0 ] || user=$(id -un 65534 2>/dev/null) || skip "no user 65534"
group=$(id -gn)
hash=$(printf '%064d' 7)

# Each in a file of its own; with users, groups and folders of this machine.
awk -v dir="$DIR" '
/^\.\\" @recipe$/ { n++; wanted = 1; next }
/^\.Bd/ { inside = wanted; wanted = 0; next }
/^\.Ed/ { inside = 0 }
inside { print >(dir "/recipe" n) }' man/execsrv.7.in
n=0
for recipe in "$DIR"/recipe*; do
	sed -i "s,sha256:6e34\\.\\.\\.,sha256:$hash,; s,/var/log,$DIR,
	    s,^TokenUser .*,TokenUser $user,
	    s,^AllowGroups .*,AllowGroups $group," "$recipe"
	expect 0 "$EXECSRVD" -t -f "$recipe"
	same "what is said of ${recipe##*/}" "$(cat "$DIR/out" "$DIR/err")" ""
	n=$((n + 1))
done
[ "$n" -ge 5 ] || fail "only $n recipes"
