#!/bin/sh
# 939: a daemon took away the control groups of another one that lives, whose
# every session with a limit was refused from then on.
set -eu
exec python3 "$SRCDIR/t/sys/939-own-groups.py"
