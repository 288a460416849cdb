#!/bin/sh
# 220: ending a process costs no more in a session that has many others.
set -eu
exec python3 "$SRCDIR/t/sys/220-many-beside.py"
