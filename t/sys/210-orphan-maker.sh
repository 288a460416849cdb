#!/bin/sh
# Who makes orphans faster than they are reaped does not keep a worker busy.
exec python3 "${0%.sh}.py" "$@"
