#!/bin/sh
# 201: what ends a process or a session leaves no descendant alive, however it
# hides, and touches nobody else.  As root also for users without rights.
set -u
test=$SRCDIR/t/sys/201-kill-means-gone.py
status=0
python3 "$test" || status=$?
ends_here() {
	echo "left out: $*"
	exit $status
}
[ "$(id -u)" -eq 0 ] || ends_here "other users take root"
if unshare --pid --fork --mount-proc true; then
	python3 "$test" container || status=1
else
	echo "left out: container: no PID namespace"
fi
command -v setpriv >/dev/null || ends_here "other users: no setpriv"
setpriv --reuid 65534 --regid 65534 --clear-groups \
    test -x "$BUILD/execsrvd" -a -r "$test" ||
    ends_here "other users cannot run what was built"
python3 "$test" nobody || status=1
python3 "$test" unprivileged || status=1
exit $status
