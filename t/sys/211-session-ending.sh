#!/bin/sh
# 211: a client was not told that the server ends its session; every start failed
# and nothing said why.
exec python3 "${0%.sh}.py" "$@"
