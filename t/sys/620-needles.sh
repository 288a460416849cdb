#!/bin/sh
# 620: what the server was started with is in no process that does not need it.
exec python3 "$SRCDIR/t/sys/620-needles.py"
