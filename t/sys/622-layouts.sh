#!/bin/sh
# 622: workers do not share one layout of memory for ever.
exec python3 "$SRCDIR/t/sys/622-layouts.py"
