#!/bin/sh
# 626: the template's probe stayed a zombie until the next worker was wanted.
set -eu
exec python3 "$SRCDIR/t/sys/626-probe-reaped.py" "$@"
