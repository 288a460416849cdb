#!/bin/sh
# execsrv-uplink is killed, again and again: no session ends, the key stays.
exec python3 "${0%.sh}.py" "$@"
