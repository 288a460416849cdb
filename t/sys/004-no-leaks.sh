#!/bin/sh
# No zombies, descriptors or workers are left after many sessions.
exec python3 "${0%.sh}.py" "$@"
