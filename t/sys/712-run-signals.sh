#!/bin/sh
# execsrvctl run: signals reach the command, and what it makes of them us.
. "${0%/*}/lib.sh"

start_server
python3 "${0%.sh}.py" || fail "see above"
