#!/bin/sh
# Watches for missing paths: many, floods, the end of a connection, hung mounts.
exec python3 "${0%.sh}.py" "$@"
