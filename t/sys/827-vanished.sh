#!/bin/sh
# A harness that vanishes without a word: its session is taken over soon.
exec python3 "${0%.sh}.py" "$@"
