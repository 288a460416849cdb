#!/bin/sh
# Tokens beside the rest of the configuration: -t looks at them, Match blocks
# hold for who shows one, a reload changes all of them or none.
. "${0%/*}/lib.sh"
need sha256sum

user=$(id -un) || skip "a user without a name"
[ "$(id -u)" -ne 0 ] || user=nobody

# NAME...: a file with its token for each, and the lines of Token.
make_tokens() {
	for name; do
		file=$DIR/$name.token
		[ -e "$file" ] || (umask 077; od -An -N24 -tx1 /dev/urandom |
		    tr -d ' \n' >"$file")
		printf '%s sha256:%s user=%s\n' "$name" \
		    "$(sha256sum <"$file" | cut -d ' ' -f 1)" "$user"
	done
}
use_tokens() {
	make_tokens "$@" >"$DIR/new"
	chmod 600 "$DIR/new"
	mv "$DIR/new" "$DIR/tokens"
}
# NAME ARG...: run it with that token; without a name "" with none.
run() {
	name=$1
	shift
	"$CTL" run --patience 0 --url "$URL" \
	    ${name:+--token-file "$DIR/$name.token"} -- "$@" \
	    2>"$DIR/err"
}
cannot_run() {
	! run "$1" true || fail "$1 is let in"
	has_line "$DIR/err" "$2" || fail "$1, not $2: $(cat "$DIR/err")"
}

# --- -t ------------------------------------------------------------------------
# TEXT, with a configuration as input: what is wrong with it.
bad() {
	cat >"$DIR/conf"
	expect 78 "$EXECSRVD" -t -f "$DIR/conf"
	has_line "$DIR/err" "$1" || fail "no '$1': $(cat "$DIR/err")"
}
bad 'Token: ' <<END
Token ci sha256:00 user=$user
END
bad 'no such user' <<END
Token ci sha256:$(printf '%064d' 0) user=no-such-user-here
END
bad 'there is no token' <<END
RequireToken always
END
bad 'not a loopback address' <<END
Listen ws://192.0.2.1:0
END
bad 'BearerSecretFile' <<END
BearerIssuer x
END
bad '"Token" cannot be in a Match block' <<END
Match all
	Token ci sha256:$(printf '%064d' 0) user=$user
END
use_tokens one two
cat >"$DIR/conf" <<END
Listen ws://192.0.2.1:0
TokenFile $DIR/tokens
END
expect 0 "$EXECSRVD" -t -f "$DIR/conf"
expect 2 "$EXECSRVD" -t -f "$DIR/conf" --ws-auth capability-token
expect 2 "$EXECSRVD" -t -f "$DIR/conf" --ws-token-file "$DIR/tokens"

# --- Match ---------------------------------------------------------------------
cat >"$DIR/conf" <<END
TokenFile $DIR/tokens
Match Identity token:one User $user Address 127.0.0.0/8
	Umask 027
Match Identity token:* User !$user,*
	Umask 0
Match Identity uid:*
	Umask 077
END
start_server --listen ws://127.0.0.1:0 -f "$DIR/conf"
same "the first one's" "$(run one sh -c umask)" 0027
same "the second one's" "$(run two sh -c umask)" 0022
same "without a token" "$(run "" sh -c umask)" 0077
same user "$(run one id -un)" "$user"

# --- reload --------------------------------------------------------------------
# A session whose token goes meanwhile.
mkfifo "$DIR/in"
exec 9<>"$DIR/in"
"$CTL" run --url "$URL" --token-file "$DIR/two.token" -- cat <"$DIR/in" \
    >"$DIR/cat.out" 2>&1 &
RUN=$!
at_exit "kill -KILL $RUN 2>/dev/null"
echo one >&9
wait_for 60 has_line "$DIR/cat.out" one || fail "no session"
use_tokens one three
sed -i '1i RequireToken always' "$DIR/conf"
expect 0 "$CTL" reload
run one true || fail "one: $(cat "$DIR/err")"
run three true || fail "three: $(cat "$DIR/err")"
cannot_run two 401
cannot_run "" 401
echo two >&9
wait_for 60 has_line "$DIR/cat.out" two || fail "the session is gone"

# Nothing of a bad one holds, whatever is wrong.
unchanged() {
	expect 1 "$CTL" reload
	has_line "$DIR/err" "$1" || fail "no '$1': $(cat "$DIR/err")"
	run three true || fail "after '$1': $(cat "$DIR/err")"
	cannot_run two 401
}
use_tokens one two
echo "two sha256:00" >>"$DIR/tokens"
unchanged "line 3: "
use_tokens one two
cp "$DIR/conf" "$DIR/good"
echo "Umask 9" >"$DIR/conf"
unchanged Umask
sed "s,^TokenFile.*,Listen unix:$DIR/none.sock," "$DIR/good" >"$DIR/conf"
unchanged "there is no token"

# By signal all of the next one.
use_tokens two
cp "$DIR/good" "$DIR/conf"
kill -HUP "$SERVER"
wait_for 60 run two true || fail "two: $(cat "$DIR/err")"
cannot_run one 401

# --- SessionUser ---------------------------------------------------------------
if [ "$(id -u)" -eq 0 ]; then
	cat >>"$DIR/conf" <<END
Match Identity token:two
	SessionUser root
END
	expect 0 "$CTL" reload
	cannot_run two 403
	sed -i 's/SessionUser root/&\n	PermitRootSession yes/' "$DIR/conf"
	expect 0 "$CTL" reload
	same "mapped to root" "$(run two id -u)" 0
else
	echo "left out: SessionUser: not root"
fi
exec 9>&-
kill -TERM "$RUN"
stop_server
