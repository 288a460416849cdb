#!/bin/sh
# 601: no sandboxed command changes or reads a file that it must not, whoever
# runs the server, with namespaces and with Landlock alone.
set -eu
exec python3 "$SRCDIR/t/sys/601-sandbox-files.py"
