#!/bin/sh
# 935: in a user namespace all users outside of its map look like one, who had
# sessions as the "nobody" inside; and root over TCP.
set -eu
exec python3 "$SRCDIR/t/sys/935-unmapped.py"
