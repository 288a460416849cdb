#!/bin/sh
# Streams at full speed do not starve another one.
exec python3 "${0%.sh}.py" "$@"
