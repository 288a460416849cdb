#!/bin/sh
# execsrvctl run --tty: raw mode and back, size, ^C, ^Z, resize, hang-up.
. "${0%/*}/lib.sh"

start_server
python3 "${0%.sh}.py" || fail "see above"
