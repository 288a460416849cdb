#!/bin/sh
# 208: a worker slept until a child had executed its program, which a signal of
# another command of the user could put off for ever.
set -eu
if [ "$(id -u)" -ne 0 ]; then
	echo "needs root, so that worker and commands differ"
	exit 77
fi
exec python3 "$SRCDIR/t/sys/208-signalled-births.py"
