#!/bin/sh
# What a session that goes on after a cut has of its last connection, and not.
exec python3 "${0%.sh}.py" "$@"
