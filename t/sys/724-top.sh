#!/bin/sh
# execsrvctl top: on a terminal until q, in batches, as JSON.
exec python3 "${0%.sh}.py" "$@"
