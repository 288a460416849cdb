#!/bin/sh
# Nothing is lost and nothing comes twice over random cuts at full speed.
exec python3 "${0%.sh}.py" "$@"
