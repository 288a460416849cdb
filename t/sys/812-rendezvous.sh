#!/bin/sh
# Whatever the rendezvous does: pauses, what ends its websocket, what does not.
exec python3 "${0%.sh}.py" "$@"
