#!/bin/sh
# 609: a command that has itself traced is traced by its worker: every stop of
# it was taken for its end.
set -eu
exec python3 "$SRCDIR/t/sys/609-tracees.py"
