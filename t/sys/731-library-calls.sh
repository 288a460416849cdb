#!/bin/sh
# libexecsrv: every request, to servers that are there.
exec python3 "${0%.sh}.py" "$@"
