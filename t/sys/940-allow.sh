#!/bin/sh
# 940: nobody could be kept out: AllowUsers, DenyUsers, AllowGroups, DenyGroups.
set -eu
exec python3 "$SRCDIR/t/sys/940-allow.py"
