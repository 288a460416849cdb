#!/bin/sh
# 607: a sandboxed command with a network could connect to the server that it
# runs under, and had a session without a sandbox.
set -eu
exec python3 "$SRCDIR/t/sys/607-own-doors.py"
