#!/bin/sh
# 941: a worker that did not run left those who would resume its session
# without an answer.
exec python3 "${0%.sh}.py" "$@"
