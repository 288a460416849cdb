#!/bin/sh
# execsrvd forward: another exec server serves the streams.
exec python3 "${0%.sh}.py" "$@"
