#!/bin/sh
# 205: whatever a process does to its terminal, its worker answers others, and
# keys, sizes and the end of input work.
exec python3 "$SRCDIR/t/sys/205-hostile-terminal.py"
