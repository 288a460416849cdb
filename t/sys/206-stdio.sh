#!/bin/sh
# 206: a session on standard input and output: many at once, ended by the end
# of either, whatever they are.
exec python3 "$SRCDIR/t/sys/206-stdio.py"
