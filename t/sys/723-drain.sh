#!/bin/sh
# execsrvctl drain: no new session, those that there are go on; then the end.
exec python3 "${0%.sh}.py" "$@"
