#!/bin/sh
# libexecsrv: what it exports, and that the manual's example works.
exec python3 "${0%.sh}.py" "$@"
