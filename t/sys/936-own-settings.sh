#!/bin/sh
# 936: the settings of root's daemon are not those of an ordinary user's, which
# could not even read the secrets that they name.
. "${0%/*}/lib.sh"

as=
mkdir -p "$DIR/home/.config/execsrv" "$DIR/xdg/execsrv"
echo 'MaxProcesses 11' >"$DIR/home/.config/execsrv/execsrvd.conf"
echo 'MaxProcesses 12' >"$DIR/xdg/execsrv/execsrvd.conf"
chmod -R a+rX "$DIR/home" "$DIR/xdg"

# What it looks for, and what it takes from there.
reads() {
	wanted=$1 value=$2
	shift 2
	# shellcheck disable=SC2086
	strace -f -e trace=open,openat,access,faccessat,faccessat2 \
	    -o "$DIR/trace" $as env -u XDG_CONFIG_HOME -u HOME "$@" \
	    "$EXECSRVD" -T >"$DIR/out" || fail "$*: $(cat "$DIR/out")"
	found=$(grep -o '"[^"]*execsrvd\.conf"' "$DIR/trace" | sort -u)
	[ "$found" = "${wanted:+\"$wanted/execsrv/execsrvd.conf\"}" ] ||
	    fail "$*: looks for $found, not $wanted"
	grep -qi "^MaxProcesses $value\$" "$DIR/out" ||
	    fail "$*: $(grep -i '^MaxProcesses' "$DIR/out"), not $value"
}

command -v strace >/dev/null || skip "no strace"
default=$("$EXECSRVD" -T -f none | sed -n 's/^MaxProcesses //Ip')
[ "$default" -gt 0 ] || fail "no default: $default"
user=$(id -u)
if [ "$user" -eq 0 ]; then
	chown -R 65534 "$DIR"
	as="setpriv --reuid 65534 --regid 65534 --clear-groups"
fi
reads "$DIR/home/.config" 11 HOME="$DIR/home"
reads "$DIR/xdg" 12 HOME="$DIR/home" XDG_CONFIG_HOME="$DIR/xdg"
reads "$DIR/none" "$default" HOME="$DIR/home" XDG_CONFIG_HOME="$DIR/none"
# A variable that is none of an absolute path counts as empty.
reads "$DIR/home/.config" 11 HOME="$DIR/home" XDG_CONFIG_HOME=xdg
reads "" "$default"
# Root's stays what it is.
if [ "$user" -eq 0 ]; then
	as=
	strace -f -e trace=access,faccessat,faccessat2 -o "$DIR/trace" env \
	    HOME="$DIR/home" XDG_CONFIG_HOME="$DIR/xdg" "$EXECSRVD" -T >"$DIR/out"
	grep -q 'etc/execsrv/execsrvd\.conf"' "$DIR/trace" ||
	    fail "root does not look for the system's settings"
	grep -q "$DIR" "$DIR/trace" && fail "root reads a user's settings"
	exit 0
fi
ends_here "what root reads: not root"
