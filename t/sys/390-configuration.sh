#!/bin/sh
# environmentConfig/read: announced and answered only where there is nothing to tell.
exec python3 "${0%.sh}.py" "$@"
