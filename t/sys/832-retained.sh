#!/bin/sh
# What a rendezvous holds for a harness is kept, and on disk.
exec python3 "${0%.sh}.py" "$@"
