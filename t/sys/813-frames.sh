#!/bin/sh
# Bad frames and records are dropped or end one stream; no other notices.
exec python3 "${0%.sh}.py" "$@"
