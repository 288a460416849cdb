#!/bin/sh
# Environments through their registry: execsrvctl as a harness.
exec python3 "${0%.sh}.py" "$@"
