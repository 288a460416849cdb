#!/bin/sh
# Where figures are told: nothing else is served there, and by whom.
exec python3 "${0%.sh}.py" "$@"
