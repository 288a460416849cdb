#!/bin/sh
# In our own ML-KEM no branch and no address depends on a secret, as valgrind
# sees it; nor does anything else that it would report.
. "${0%/*}/lib.sh"

need valgrind
[ -z "${SANITIZERS:-}" ] || skip "a sanitizer does not run under valgrind"
built=$BUILD/t/005-mlkem-secrets
program=$DIR/program
code=0
"$built" || code=$?
[ "$code" -ne 77 ] || exit 77
[ "$code" -eq 0 ] || fail "without valgrind: status $code"
# Its names are enough, and not every valgrind reads what clang has to add.
strip --strip-debug -o "$program" "$built" || fail "strip"

under_valgrind() {
	valgrind --quiet --error-exitcode=9 \
	    --suppressions="${0%/*}/mlkem.supp" "$program" "$@"
}

# It does see such mistakes.
expect 9 under_valgrind branch
expect 9 under_valgrind address
expect 0 under_valgrind
