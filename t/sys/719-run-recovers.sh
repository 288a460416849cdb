#!/bin/sh
# execsrvctl run: a connection that is cut again and again is not noticed.
exec python3 "${0%.sh}.py" "$@"
