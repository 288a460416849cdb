#!/bin/sh
# 201: what ends a process or a session leaves no descendant alive, however it
# hides, and touches nobody else.  As root also for users without rights.
set -u
test=$SRCDIR/t/sys/201-kill-means-gone.py
status=0
python3 "$test" || status=$?
[ "$(id -u)" -eq 0 ] || exit $status
if unshare --pid --fork --mount-proc true; then
	python3 "$test" container || status=1
fi
command -v setpriv >/dev/null || exit $status
setpriv --reuid 65534 --regid 65534 --clear-groups \
    test -x "$BUILD/execsrvd" -a -r "$test" || exit $status
python3 "$test" nobody || status=1
python3 "$test" unprivileged || status=1
exit $status
