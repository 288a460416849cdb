#!/bin/sh
# "execsrvctl run" shows a token, from a file or the environment.
exec python3 "${0%.sh}.py" "$@"
