#!/bin/sh
# 605: ended processes, sessions, holders, workers and servers leave no process
# of a sandbox, no mount and no stand-in; siblings are left alone.
set -eu
exec python3 "$SRCDIR/t/sys/605-sandbox-ends.py"
