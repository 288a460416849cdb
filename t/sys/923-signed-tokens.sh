#!/bin/sh
# Signed bearer tokens: which are good, and whose sessions they open.
exec python3 "${0%.sh}.py" "$@"
