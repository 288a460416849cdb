#!/bin/sh
# make install, what it leaves alone, make uninstall; the container's files.
exec python3 "${0%.sh}.py" "$@"
