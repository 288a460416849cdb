#!/bin/sh
# 221: a wake-up gets lost: that of a child that ended was never looked for, and
# a SIGTERM was never acted on.
set -eu
exec python3 "$SRCDIR/t/sys/221-lost-wakeup.py"
