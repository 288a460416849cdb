#!/bin/sh
# The audit log: who did what, in lines that say all of it and nothing else.
exec python3 "${0%.sh}.py" "$@"
