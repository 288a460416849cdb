#!/bin/sh
# 222: more output than DetachedSpool while nobody is attached, and more than
# one message can hold.
set -eu
exec python3 "$SRCDIR/t/sys/222-overflow.py"
