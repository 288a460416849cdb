#!/bin/sh
# The last one that there may be is there, and the next one is not.
exec python3 "${0%.sh}.py" "$@"
