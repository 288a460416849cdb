#!/bin/sh
# A token whose user changed resumes nothing of the user that it had before.
exec python3 "${0%.sh}.py" "$@"
