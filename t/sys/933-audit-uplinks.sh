#!/bin/sh
# What the audit log has of remote mode.
exec python3 "${0%.sh}.py" "$@"
