#!/bin/sh
# Who reads what strangers send can do nothing else.
exec python3 "${0%.sh}.py" "$@"
