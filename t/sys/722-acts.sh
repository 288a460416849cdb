#!/bin/sh
# execsrvctl signal and kill: who is told, who is gone, and what the log says.
exec python3 "${0%.sh}.py" "$@"
