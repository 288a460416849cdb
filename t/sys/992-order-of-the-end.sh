#!/bin/sh
# In which order a process and what belongs to it are looked for and signalled.
exec python3 "${0%.sh}.py" "$@"
