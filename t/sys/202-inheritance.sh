#!/bin/sh
# 202: a command inherits what it should and nothing else, and can neither
# read nor trace its worker or the master.
set -u
test=$SRCDIR/t/sys/202-inheritance.py
status=0
python3 "$test" || status=$?
ends_here() {
	echo "left out: $*"
	exit $status
}
[ "$(id -u)" -eq 0 ] || ends_here "other users take root"
command -v setpriv >/dev/null || ends_here "other users: no setpriv"
setpriv --reuid 65534 --regid 65534 --clear-groups \
    test -x "$BUILD/execsrvd" -a -r "$test" ||
    ends_here "other users cannot run what was built"
python3 "$test" nobody || status=1
exit $status
