#!/bin/sh
# 938: where the kernel has no tcp_diag, every client by TCP was refused.
set -eu
exec python3 "$SRCDIR/t/sys/938-no-diag.py"
