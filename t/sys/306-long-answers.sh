#!/bin/sh
# What goes on while a long answer is on its way, and what becomes of it.
exec python3 "${0%.sh}.py" "$@"
