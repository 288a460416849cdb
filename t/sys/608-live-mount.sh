#!/bin/sh
# 608: sandboxed commands whose folder or program is on a file system that
# answers, but not from this machine (NFS, FUSE): their sessions died.
set -eu
exec python3 "$SRCDIR/t/sys/608-live-mount.py"
