#!/bin/sh
# libexecsrv: a private server for one connection, which ends with its program.
exec python3 "${0%.sh}.py" "$@"
