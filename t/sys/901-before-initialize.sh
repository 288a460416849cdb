#!/bin/sh
# Who does not initialize is closed in time and holds nobody up.
exec python3 "${0%.sh}.py" "$@"
