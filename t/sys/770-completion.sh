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

# offered WORD PROGRAM WORD...: what a daemon knows; one that stood still is
# asked again.
offered() {
	wanted=$1
	shift
	for try in 1 2 3 4; do
		completed "$@"
		! grep -qxF -- "$wanted" "$DIR/out" || return 0
		echo "asked $try times"
	done
	completed "$@"
	offers "$wanted"
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
completed execsrvctl help ""
offers attach
completed execsrvctl help at
offers attach
completed execsrvctl help attach ""
! grep -qxF attach "$DIR/out" || fail "help of two commands"
completed execsrvctl fleet ""
offers list
offers token
completed execsrvctl fleet --run
offers --runtime-dir
completed execsrvd -o Detached
offers DetachedTtl=
completed execsrvctl drain --
offers --wait
completed execsrvctl top -
for option in -b -d -n; do
	offers "$option"
done
completed execsrvctl tail -
offers -f
# Options of the rows: those of the help, which refuses no other than the parser.
for command in sessions ps settings kill tail logs audit watch ready wait upgrade \
    drain; do
	"$CTL" "$command" -h | grep -oE '^ +(-[a-z], )?--[a-z-]+' |
	    grep -oE -- '-[a-z-]+' | sort >"$DIR/help"
	completed execsrvctl "$command" -
	same "$command" "$(sort "$DIR/out")" "$(cat "$DIR/help")"
done
completed execsrvctl sandbox explain --
offers --cwd
completed execsrvctl signal 1 2 T
offers TERM
completed execsrvctl signal -u nobody 1 2 T
offers TERM
completed execsrvctl ps --u
offers --url

# Switches of the daemon: as many as it takes, in its help as well.
"$EXECSRVD" --help >"$DIR/help" || fail "--help"
completed execsrvd --
cp "$DIR/out" "$DIR/switches"
for option in --listen --ws-auth --ws-token-file --remote --environment-id \
    --remote-transport --exit-on-stdin-close; do
	offers "$option"
	has_line "$DIR/help" "^  $option( |\$)" || fail "not in --help: $option"
done
completed execsrvd --ws-auth ""
offers signed-bearer-token
while read -r option; do
	"$EXECSRVD" -t "$option" 1 </dev/null >"$DIR/out" 2>"$DIR/err" || :
	! has_line "$DIR/err" 'unrecognized option' || fail "no switch: $option"
done <"$DIR/switches"
for option in $(grep -o '^  --[a-z0-9-]*' "$DIR/help"); do
	grep -qxF -- "$option" "$DIR/switches" || fail "not offered: $option"
done

# What is optional ends where it ends, in the manual too.
for usage in 'cp Oo Fl r Oc Ar src Ns ... Ar dst' \
    'attach Ar session Ns Oo Ar /process Oc' \
    'top Oo Fl b Oc Oo Fl d Ar seconds Oc Oo Fl n Ar times Oc'; do
	grep -qxF ".It Cm $usage" "$BUILD/man/execsrvctl.8" ||
	    fail "the manual: $usage"
done

# Sessions are those of the daemon.
start_server
expect 0 "$CTL" run -d -- sleep 600
session=$(cat "$DIR/out")
wait_for 10 rows_are "len(d) == 1" sessions || fail "no session"
offered "$session" execsrvctl attach ""
offered "$session" execsrvctl kill "${session%???????}"
offered "$session" execsrvctl kill ""
! grep -q '^-' "$DIR/out" || fail "options among sessions"
completed execsrvctl kill -
offers --url
completed execsrvctl sessions --sort ""
offers cpu_ms
offers -cpu_ms
completed execsrvctl ps -o process,st
offers process,state
completed execsrvctl sessions --state d
offers detached
completed execsrvctl sessions --user ro
offers root
offered "$session" execsrvctl logs --since 1h ""
offered p1 execsrvctl kill "$session" ""
offered "$session/p1" execsrvctl attach "$session/"

# Those of another server, whose URL bash has split at its colons, and paths there.
HOME=$DIR/home
export HOME
mkdir -p "$HOME/.config/execsrv" "$DIR/there/folder"
echo "box $URL" >"$HOME/.config/execsrv/hosts"
: >"$DIR/there/file"
completed execsrvctl run -u ""
offers box
port=${URL##*:}
export EXECSRV_RUNTIME_DIR=$DIR/nowhere
offered "$session" execsrvctl tail --url ws : "//127.0.0.1" : "$port" ""
offered p1 execsrvctl tail --url box "$session" ""
offered "$DIR/there/folder/" execsrvctl cp here box : "$DIR/there/f"
offered "$DIR/there/file" execsrvctl cp here box : "$DIR/there/f"

# The same words for zsh, where there is one.
command -v zsh >/dev/null || ends_here "no zsh"
zsh -n "$COMPLETION/zsh" || fail "zsh does not read it"
