#!/bin/sh
# 602: no sandboxed command reaches a process, a socket, a terminal or the kernel
# beyond its sandbox; no command at all its worker, where that is possible.
set -eu
exec python3 "$SRCDIR/t/sys/602-sandbox-reach.py"
