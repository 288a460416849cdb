#!/bin/sh
# 621: no file operation of a session tells what is in its server's processes.
exec python3 "$SRCDIR/t/sys/621-own-procfs.py"
