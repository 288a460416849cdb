#!/bin/sh
# 209: a worker slept with its child when a file system named the program and
# then never opened it.
exec python3 "${0%.sh}.py" "$@"
