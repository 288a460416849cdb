#!/bin/sh
# 624: what a resumed client read of a process that has nothing more to say
# stayed in memory, all of it, for as long as the process was known.
set -eu
exec python3 "$SRCDIR/t/sys/624-caught-up.py" "$@"
