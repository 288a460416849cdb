#!/bin/sh
# System calls that fail, one after the other, in the master and the template.
exec python3 "${0%.sh}.py" "$@"
