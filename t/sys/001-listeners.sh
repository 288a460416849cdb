#!/bin/sh
# Where it listens, what it refuses, its configuration, and as a daemon.
exec python3 "${0%.sh}.py" "$@"
