#!/bin/sh
# The limits of a rendezvous websocket and of a stream.
exec python3 "${0%.sh}.py" "$@"
