#!/bin/sh
# Memory is bounded whatever a client does not read.
exec python3 "${0%.sh}.py" "$@"
