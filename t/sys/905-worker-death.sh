#!/bin/sh
# Killed workers: others go on, descendants go, the pool comes back.
exec python3 "${0%.sh}.py" "$@"
