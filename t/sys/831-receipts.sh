#!/bin/sh
# session/received: what is not acknowledged end to end can be had again.
exec python3 "${0%.sh}.py" "$@"
