#!/bin/sh
# Completion in bash and zsh: commands, options, keywords, sessions.
. "${0%/*}/lib.sh"
need bash

COMPLETION=$BUILD/contrib/completion
[ -f "$COMPLETION/bash" ] || fail "not made"

# completed PROGRAM WORD...: what bash offers for the last word.
completed() {
	PATH=$BUILD:$PATH bash -c '. "$1" || exit 1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	"_$1"
	printf "%s\n" "${COMPREPLY[@]}"' - "$COMPLETION/bash" "$@" \
	    >"$DIR/out" 2>"$DIR/err" || fail "bash: $(cat "$DIR/err")"
	same "no errors" "$(cat "$DIR/err")" ""
}

offers() {
	grep -qxF -- "$1" "$DIR/out" || fail "not offered: $1"
}

completed execsrvctl st
offers status
completed execsrvctl ""
for command in attach cp drain ps reload run sessions shell status tail; do
	offers "$command"
done
completed execsrvctl -R /tmp run --t
offers --tty
offers --token-file
completed execsrvctl run --sandbox ""
offers workspace-write
completed execsrvctl config c
offers check
completed execsrvd -o Detached
offers DetachedTtl=
completed execsrvd --l
offers --listen

# Sessions are those of the daemon.
start_server
expect 0 "$CTL" run -d -- sleep 600
session=$(cat "$DIR/out")
wait_for 10 rows_are "len(d) == 1" sessions || fail "no session"
completed execsrvctl attach ""
offers "$session"
completed execsrvctl kill "${session%???????}"
offers "$session"

# The same words for zsh, where there is one.
command -v zsh >/dev/null || exit 0
zsh -n "$COMPLETION/zsh" || fail "zsh does not read it"
