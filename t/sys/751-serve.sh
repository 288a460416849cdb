#!/bin/sh
# libexecsrv: servers that run under a program, listening or registered.
exec python3 "${0%.sh}.py" "$@"
