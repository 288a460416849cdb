#!/bin/sh
# A disconnect ends what is under way, soon, and leaves nothing.
exec python3 "${0%.sh}.py" "$@"
