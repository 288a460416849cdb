#!/bin/sh
# wss://: who is trusted, tokens, lines that are cut, dead or refused.
exec python3 "${0%.sh}.py" "$@"
