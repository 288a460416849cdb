#!/bin/sh
# 223: MaxHeldMemory and MaxHeldMemoryPerUser: what sessions hold in memory.
set -eu
exec python3 "$SRCDIR/t/sys/223-held-memory.py"
