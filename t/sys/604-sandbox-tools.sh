#!/bin/sh
# 604: git, cc, make, npm, python and a shell in a terminal work in a sandbox.
set -eu
exec python3 "$SRCDIR/t/sys/604-sandbox-tools.py"
