#!/bin/sh
# Every way in which a registration can fail: what is tried again, with which
# pauses, and what ends it.
exec python3 "${0%.sh}.py" "$@"
