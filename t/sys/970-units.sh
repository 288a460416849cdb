#!/bin/sh
# What systemd says of its units and files.
. "${0%/*}/lib.sh"

made=$BUILD/contrib/systemd
for file in execsrvd.service execsrvd.socket execsrv-hub.service sysusers.conf \
    tmpfiles.conf; do
	[ -s "$made/$file" ] || fail "no $file"
	has_line "$made/$file" '@[a-z]+@' && fail "$file: not filled in"
	# With the program that is here.
	sed "s,^\(Exec[A-Za-z]*\)=[^ ]*/\(execsrvd\|execsrvctl\|execsrv-hub\)\( \|\$\),\1=$BUILD/\2\3," \
	    "$made/$file" >"$DIR/$file"
done

# What service managers and operators rely on by name.
for line in Type=notify KillMode=process Delegate=yes 'WatchdogSec=[1-9]' \
    'ExecStart=/.*/execsrvd -D'; do
	has_line "$DIR/execsrvd.service" "^$line" || fail "no $line"
done
# It is started again whatever it died of, and however often, but for one that
# cannot live; not when it was told to end, or would not be better.
for unit in execsrvd execsrv-hub; do
	for line in Restart=always 'RestartPreventExitStatus=0 2 78' \
	    RestartSec=100ms StartLimitIntervalSec=60 StartLimitBurst=30; do
		has_line "$DIR/$unit.service" "^$line$" || fail "$unit: no $line"
	done
done
# What systemctl says of a reload is what the daemon says.
has_line "$DIR/execsrvd.service" "^ExecReload=$BUILD/execsrvctl reload$" ||
    fail "how it reloads"
# Sessions could not be used as they are without.
for word in NoNewPrivileges PrivateTmp ProtectHome ProtectSystem \
    RestrictNamespaces RestrictSUIDSGID ProtectKernelTunables \
    ProtectKernelLogs ProtectHostname PrivateDevices @debug @mount; do
	has_line "$DIR/execsrvd.service" "^[^#]*$word" && fail "$word"
done

need systemd-analyze
verify() {
	systemd-analyze verify --man=no "$@" >"$DIR/said" 2>&1 && [ ! -s "$DIR/said" ]
}

if ! verify "$DIR/execsrvd.service" "$DIR/execsrvd.socket" \
    "$DIR/execsrv-hub.service"; then
	# An older one does not know --man.
	cat "$DIR/said" >&2
	fail "systemd-analyze verify"
fi
# Does it see a mistake at all?
sed 's/^Type=notify/Type=nonsense/' "$DIR/execsrvd.service" \
    >"$DIR/wrong.service"
verify "$DIR/wrong.service" && fail "verify sees nothing"

systemd-analyze security --offline=true --no-pager --threshold=64 \
    "$DIR/execsrvd.service" >"$DIR/said" 2>&1 || {
	cat "$DIR/said" >&2
	fail "exposed above 6.4"
}
grep -o 'exposure level.*' "$DIR/said"

# Into a root of its own: a user and folders.
[ "$(id -u)" -eq 0 ] || ends_here "users and folders take root"
command -v systemd-sysusers >/dev/null ||
    ends_here "no systemd-sysusers"
root=$DIR/root
mkdir -p "$root/etc" "$root/run" "$root/var/log"
echo 'root:x:0:0::/:/bin/sh' >"$root/etc/passwd"
printf 'root:x:0:\nadm:x:4:\n' >"$root/etc/group"
expect 0 systemd-sysusers --root="$root" "$DIR/sysusers.conf"
has_line "$root/etc/passwd" '^_execsrv:x:[1-9][0-9]*:[1-9][0-9]*:.*nologin$' ||
    fail "no user: $(cat "$root/etc/passwd")"
expect 0 systemd-tmpfiles --root="$root" --create "$DIR/tmpfiles.conf"
same "run directory" "$(stat -c %a:%U:%G "$root/run/execsrv")" 755:root:root
same "log directory" "$(stat -c %a:%u:%g "$root/var/log/execsrv")" 2750:0:4
