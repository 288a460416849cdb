#!/bin/sh
# 221: a wake-up for a child that ended gets lost: it was never looked for.
set -eu
exec python3 "$SRCDIR/t/sys/221-lost-wakeup.py"
