#!/bin/sh
# An agent is killed at work and cannot be replaced: who waits is answered.
exec python3 "${0%.sh}.py" "$@"
