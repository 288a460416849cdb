#!/bin/sh
# 625: a read of a pipe that failed counted as the end of its output.
set -eu
exec python3 "$SRCDIR/t/sys/625-failed-reads.py" "$@"
