#!/bin/sh
# 202: a command inherits what it should and nothing else, and can neither
# read nor trace its worker or the master.
set -u
test=$SRCDIR/t/sys/202-inheritance.py
status=0
python3 "$test" || status=$?
[ "$(id -u)" -eq 0 ] || exit $status
command -v setpriv >/dev/null || exit $status
setpriv --reuid 65534 --regid 65534 --clear-groups \
    test -x "$BUILD/execsrvd" -a -r "$test" || exit $status
python3 "$test" nobody || status=1
exit $status
