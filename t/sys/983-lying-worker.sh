#!/bin/sh
# Workers that say what they may not: killed, counted, and nobody else's affair.
exec python3 "${0%.sh}.py" "$@"
