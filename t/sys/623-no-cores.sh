#!/bin/sh
# 623: no process of ours leaves its memory in a file when it dies.
exec python3 "$SRCDIR/t/sys/623-no-cores.py"
