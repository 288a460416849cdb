#!/bin/sh
# 201: what ends a process or a session leaves no descendant alive, however it
# hides, and touches nobody else.  As root also for users without rights.
set -eu
test=$SRCDIR/t/sys/201-kill-means-gone.py
python3 "$test"
[ "$(id -u)" -eq 0 ] || exit 0
command -v setpriv >/dev/null || exit 0
setpriv --reuid 65534 --regid 65534 --clear-groups \
    test -x "$BUILD/execsrvd" -a -r "$test" || exit 0
python3 "$test" nobody
python3 "$test" unprivileged
