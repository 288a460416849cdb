#!/bin/sh
# Who runs a remote session, and that it is found through its environment only.
exec python3 "${0%.sh}.py" "$@"
