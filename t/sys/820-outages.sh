#!/bin/sh
# Neither local clients nor who stops the daemon notice what a registry does.
exec python3 "${0%.sh}.py" "$@"
