#!/bin/sh
# 204: exit codes are exact: each code, each signal, a thousand at once, and
# while somebody still holds the output.
exec python3 "$SRCDIR/t/sys/204-exit-codes.py"
