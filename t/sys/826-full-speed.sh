#!/bin/sh
# As 815, with output at full speed.
exec python3 "${0%.sh}.py" "$@"
