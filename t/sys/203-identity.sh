#!/bin/sh
# 203: a session runs as the user whom the kernel names, as no one else, and
# never as root because its client was in a hurry.
set -eu
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	echo "needs root and setpriv(1)"
	exit 77
fi
if ! setpriv --reuid 65534 --regid 65534 --clear-groups \
    test -x "$BUILD/execsrvd"; then
	echo "other users cannot run what was built"
	exit 77
fi
exec python3 "$SRCDIR/t/sys/203-identity.py"
