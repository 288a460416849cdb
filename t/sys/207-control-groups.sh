#!/bin/sh
# 207: a control group for each process, where the system lets us, and nothing of
# them left; and what is killed without them.
set -u
here=$SRCDIR/t/sys
status=0
python3 "$here/201-kill-means-gone.py" groupless || status=1
ends_here() {
	echo "left out: $*"
	exit $status
}
[ "$(id -u)" -eq 0 ] || ends_here "groups for others take root"
command -v setpriv >/dev/null || ends_here "other users: no setpriv"
setpriv --reuid 65534 --regid 65534 --clear-groups \
    test -x "$BUILD/execsrvd" -a -r "$here/207-control-groups.py" ||
    ends_here "other users cannot run what was built"
python3 "$here/201-kill-means-gone.py" delegated || status=1
python3 "$here/207-control-groups.py" || status=1
exit $status
