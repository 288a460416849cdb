#!/bin/sh
# execsrvd -D -- COMMAND: a command with the server beside it.
exec python3 "${0%.sh}.py" "$@"
