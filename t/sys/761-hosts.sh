#!/bin/sh
# Where execsrvctl finds a server: --url, variables, names in the file of hosts.
. "${0%/*}/lib.sh"

start_server --listen ws://127.0.0.1:0 --listen "unix:$DIR/socket"
HOME=$DIR/home
XDG_CONFIG_HOME=
unset EXECSRV_URL EXECSRV_TOKEN
export HOME XDG_CONFIG_HOME
mkdir -p "$HOME/.config/execsrv"
HOSTS=$HOME/.config/execsrv/hosts
run() {
	"$CTL" -R "$DIR/nowhere" run "$@"
}

# said WORDS: in the errors of the last command.
said() {
	grep -qF -- "$1" "$DIR/err" || fail "not said: $1: $(cat "$DIR/err")"
}

expect 125 run --url box true
said "$HOSTS"
cat >"$HOSTS" <<-EOF
	# names
	box $URL
	sock  unix:$DIR/socket  # the same
EOF
expect 0 run --url box true
expect 0 run -u sock true
EXECSRV_URL=box expect 0 run true
EXECSRV_URL=nobody CODEX_EXEC_SERVER_URL=$URL expect 125 run true
said "nobody: not a URL, and not the name of a server in"
EXECSRV_URL='' CODEX_EXEC_SERVER_URL=sock expect 0 run true
EXECSRV_URL=nobody expect 0 run --url "$URL" true
mkdir -p "$DIR/xdg/execsrv"
echo "there $URL" >"$DIR/xdg/execsrv/hosts"
XDG_CONFIG_HOME=$DIR/xdg expect 0 run --url there true
XDG_CONFIG_HOME=$DIR/xdg expect 125 run --url box true

# Tokens are in files that nobody else can read, and in no environment.
echo "secret $URL token=s3cret" >>"$HOSTS"
for mode in 644 640 620 604; do
	chmod "$mode" "$HOSTS"
	expect 125 run --url secret true
	said "chmod 600"
	expect 0 run --url box true
done
chmod 600 "$HOSTS"
expect 0 run --url secret true
echo "file $URL token-file=token" >>"$HOSTS"
expect 125 run --url file true
printf 's3cret\n' >"$HOME/.config/execsrv/token"
expect 125 run --url file true
said "$HOME/.config/execsrv/token"
chmod 600 "$HOME/.config/execsrv/token"
expect 0 run --url file true
expect 0 run --url box --token-file "$HOME/.config/execsrv/token" true
: >"$DIR/empty"
chmod 600 "$DIR/empty"
expect 125 run --url box --token-file "$DIR/empty" true
printf 'a b\n' >"$DIR/empty"
expect 125 run --url box --token-file "$DIR/empty" true
# shellcheck disable=SC2016
EXECSRV_TOKEN=s3cret expect 0 run --url "$URL" -e EXECSRV_TOKEN -- \
    sh -c 'echo "${EXECSRV_TOKEN-none}"'
same "not for the command" "$(cat "$DIR/out")" none

# What commands have there, unless the command line says otherwise.
echo "home unix:$DIR/socket cwd=/usr env=A=b env=C=d" >>"$HOSTS"
# shellcheck disable=SC2016
expect 0 run -u home -- sh -c 'echo "$PWD $A $C"'
same "folder and variables" "$(cat "$DIR/out")" "/usr b d"
# shellcheck disable=SC2016
expect 0 run -u home -C / -e A=x -- sh -c 'echo "$PWD $A $C"'
same "the command line's" "$(cat "$DIR/out")" "/ x d"
# shellcheck disable=SC2016
expect 0 run --on home,sock -- sh -c 'echo "$PWD $A"'
grep -qx 'home: /usr b' "$DIR/out" || fail "on several: $(cat "$DIR/out")"
if run --sandbox read-only -u home -- true 2>/dev/null; then
	echo "shut unix:$DIR/socket cwd=$DIR sandbox=read-only" >>"$HOSTS"
	expect 1 run -u shut -- sh -c 'echo >x || exit 1'
	expect 0 run -u shut --sandbox none -- sh -c 'echo >x'
	sed -i '/^shut/d' "$HOSTS"
fi
expect 0 "$CTL" config hosts
grep -qxF "home unix:$DIR/socket" "$DIR/out" || fail "hosts: $(cat "$DIR/out")"

# A line that cannot be read says which.
echo "bad" >>"$HOSTS"
expect 125 run --url nobody true
said "$HOSTS:7: expected a name and a URL"
echo "odd $URL sandobx=none" >>"$HOSTS"
expect 78 "$CTL" config hosts
said "$HOSTS:7: expected a name and a URL"
said "$HOSTS:8: no option \"sandobx\": did you mean \"sandbox=\"?"
expect 0 run --url box true
