#!/bin/sh
# execsrv-http: confined, not believed, replaced when it dies, gone when idle.
exec python3 "${0%.sh}.py" "$@"
