#!/bin/sh
# As PID 1, and under an init: reaping, signals, the end.
exec python3 "${0%.sh}.py" "$@"
