#!/bin/sh
# Sessions that nobody is attached to: spool, expiry, worker given back.
exec python3 "${0%.sh}.py" "$@"
