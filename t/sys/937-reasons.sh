#!/bin/sh
# 937: who is refused is told why, as far as that helps nobody to guess.
set -eu
exec python3 "$SRCDIR/t/sys/937-reasons.py"
