#!/bin/sh
# execsrvctl tail: the output of a process, as it is kept, and as it comes.
exec python3 "${0%.sh}.py" "$@"
