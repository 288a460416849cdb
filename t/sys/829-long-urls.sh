#!/bin/sh
# Rendezvous URLs of any length that there is: taken whole, or refused aloud.
exec python3 "${0%.sh}.py" "$@"
