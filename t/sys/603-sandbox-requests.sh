#!/bin/sh
# 603: file requests under a sandbox stay inside, also while links are swapped
# 100,000 times under them, and get the errors that the protocol says.
set -eu
exec python3 "$SRCDIR/t/sys/603-sandbox-requests.py"
