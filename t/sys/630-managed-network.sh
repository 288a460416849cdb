#!/bin/sh
# Attacks on the boundary of a managed network, none of which gets through.
#
# In network and mount namespaces of its own, with a second network namespace
# that plays the rest of the world: its address is public, and so is this
# machine's.  No packet leaves the two.
if [ "$1" != inside ]; then
	[ "$(id -u)" = 0 ] || { echo "wants root"; exit 77; }
	if ! unshare -nm true 2>/dev/null; then
		echo "no network namespaces here"
		exit 77
	fi
	exec unshare -nm --propagation private sh "$0" inside
fi
command -v ip >/dev/null || { echo "no ip(8)"; exit 77; }
ip link set lo up
exec python3 "${0%.sh}.py"
