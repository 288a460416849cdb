#!/bin/sh
# Tests of remote mode once more, with execsrv-hub in the place of the tests' own
# registry (RENDEZVOUS=hub): what executors and harnesses see is the same.
. "${0%/*}/lib.sh"

here=${0%/*}
ran=0
for test in \
    "810-remote.py" \
    "813-frames.py dropped odd_but_right odd_names resets_alone stopped" \
    "814-limits.py handshakes_at_once answered requests_behind_one" \
    "821-handshakes.py"
do
	# shellcheck disable=SC2086
	RENDEZVOUS=hub python3 "$here"/$test >"$DIR/out" 2>&1 ||
	    fail "$test: $(tail -n 60 "$DIR/out")"
	grep registry "$DIR/out" || :
	ran=$((ran + $(grep -c '([0-9.]* s)$' "$DIR/out")))
done
# The rest is what a hub must not do, or does otherwise.
[ "$ran" -ge 20 ] || fail "only $ran cases ran"
echo "$ran cases"
