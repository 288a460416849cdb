#!/bin/sh
# A client that does not read: its commands wait, whatever the window is.
exec python3 "${0%.sh}.py" "$@"
