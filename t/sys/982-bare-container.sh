#!/bin/sh
# Without root, /run, a writable disk, a user database, namespaces.
exec python3 "${0%.sh}.py" "$@"
