#!/bin/sh
# What remote sessions say last, when the server stops, still arrives.
exec python3 "${0%.sh}.py" "$@"
