#!/bin/sh
# execsrvctl run against servers that are not ours: old ones, and bad ones.
. "${0%/*}/lib.sh"

python3 "${0%.sh}.py" || fail "see above"
