#!/bin/sh
# What "execsrvctl uplinks" and "execsrvctl status" tell of remote mode.
exec python3 "${0%.sh}.py" "$@"
