#!/bin/sh
# Long answers and many operations at once: memory and processes are bounded.
exec python3 "${0%.sh}.py" "$@"
