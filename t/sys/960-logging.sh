#!/bin/sh
# Where the log goes, and what its lines are.
exec python3 "${0%.sh}.py" "$@"
