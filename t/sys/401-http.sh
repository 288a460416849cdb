#!/bin/sh
# http/request: answers, redirects, streams, limits and the end of each.
exec python3 "${0%.sh}.py" "$@"
