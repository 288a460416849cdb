#!/bin/sh
# Only a harness that the registry knows gets a stream.
exec python3 "${0%.sh}.py" "$@"
