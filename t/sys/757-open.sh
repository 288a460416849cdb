#!/bin/sh
# Opening a connection in the caller's loop, which goes on meanwhile.
exec python3 "${0%.sh}.py" "$@"
