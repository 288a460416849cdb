#!/bin/sh
# The master reads no byte of clients that show tokens (strace).
exec python3 "${0%.sh}.py" "$@"
