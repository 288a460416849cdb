#!/bin/sh
# Cuts of every kind at full speed: nothing is lost, nothing comes twice.
exec python3 "${0%.sh}.py" "$@"
