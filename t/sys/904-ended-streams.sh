#!/bin/sh
# A worker died of output streams that had ended while they were held or paced.
exec python3 "${0%.sh}.py" "$@"
