#!/bin/sh
# A thousand cuts of every kind at full speed: nothing lost, nothing twice.
exec python3 "${0%.sh}.py" "$@"
