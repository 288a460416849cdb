#!/bin/sh
# 973: the image of contrib/container is built by podman, and runs as its comments
# and the examples of orchestrators have it.  Nothing is fetched: the base is made
# of this machine's libraries, our programs come from the build folder.
# alone: a second service of containers
. "${0%/*}/lib.sh"
need_root
need podman crun unshare
[ -z "${SANITIZERS:-}" ] || skip "sanitizers want libraries that images lack"
file=contrib/container/Dockerfile

# In a mount namespace of our own: crun wants control groups of version 2 alone.
if [ "${IN_NAMESPACE:-}" != yes ]; then
	export IN_NAMESPACE=yes
	unshare -m true 2>/dev/null || skip "no mount namespace"
	unshare -m --propagation private sh "$0"
	exit
fi
umount -R /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || skip "no cgroup2"

# All of podman is in memory, at a path that it does not find too long.  Limits
# below ours need no capability.
podman=$(mktemp -d /tmp/XXXXXX) || fail "no folder"
at_exit "rmdir '$podman'"
mount -t tmpfs -o mode=755 none "$podman" || skip "no tmpfs"
at_exit "umount -R '$podman'"
quiet_podman() {
	TMPDIR=$podman timeout 120 podman --root "$podman/images" \
	    --runroot "$podman/run" --tmpdir "$podman/tmp" \
	    --storage-driver vfs --runtime crun \
	    --cgroup-manager cgroupfs --events-backend none "$@"
}
run() {
	quiet_podman run --rm --network none --cgroups disabled \
	    --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$@"
}
at_exit "quiet_podman rm -af >/dev/null 2>&1"

# The base: a shell, what the file runs, and the libraries that it names.
base=$DIR/base
mkdir -p "$base/bin" "$base/etc" "$base/tmp" "$base/var/lib" "$base/usr/bin" \
    "$base/usr/sbin"
chmod 1777 "$base/tmp"
with_libraries() {
	cp -L "$1" "$base$2"
	ldd "$1" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$base${lib%/*}"
		cp -Ln "$lib" "$base$lib"
	done
}
for tool in sh install rm ls id cat touch sleep; do
	with_libraries "$(command -v $tool)" "/bin/$tool"
done
# What it installs is there already: 972 compares the packages.
printf '#!/bin/sh\n' >"$base/bin/apt-get"
chmod 755 "$base/bin/apt-get"

# What "make install-strip" of the first stage gives, without building again.
mkdir "$DIR/context"
make -s install-strip BUILD="$BUILD" DESTDIR="$DIR/context/dest" prefix=/usr \
    exec_prefix=/usr sysconfdir=/etc libexecdir=/usr/lib systemdsystemunitdir= \
    sysusersdir= tmpfilesdir= initdir= logrotatedir= >"$DIR/out" 2>&1 ||
    fail "make install: $(tail -n 5 "$DIR/out")"
for program in "$DIR"/context/dest/usr/sbin/execsrvd \
    "$DIR"/context/dest/usr/bin/execsrvctl \
    "$DIR"/context/dest/usr/lib/execsrv/*; do
	with_libraries "$program" /tmp/program
	rm "$base/tmp/program"
done
tar -C "$base" -c . | quiet_podman import - localhost/debian:12-slim \
    >/dev/null 2>"$DIR/err" || skip "podman cannot import: $(cat "$DIR/err")"

# Its second stage, word for word, but for where the first one's result is.
sed -n '/^FROM/h; /^FROM/!H; ${x; p}' "$file" |
    sed 's/COPY --from=build \/dest/COPY dest/' >"$DIR/context/Dockerfile"
has_line "$DIR/context/Dockerfile" '^COPY dest/ /$' || fail "no second stage"
quiet_podman build --isolation chroot --network host --pull-never \
    --layers=false -t localhost/execsrv "$DIR/context" >"$DIR/out" 2>&1 ||
    fail "build: $(tail -n 5 "$DIR/out")"
run localhost/debian:12-slim true >"$DIR/out" 2>&1
[ $? -ne 126 ] || skip "containers do not run here: $(tail -n 1 "$DIR/out")"

# As its comments have it, and as orchestrators do: any uid, nothing writable.
strict='--read-only --tmpfs /tmp --tmpfs /work:mode=1777 --cap-drop all
    --security-opt no-new-privileges'
grep -qF 'docker run --rm --read-only --tmpfs /tmp --tmpfs /work:mode=1777 execsrv' \
    "$file" || fail "the file says something else"
for more in "" "$strict" "$strict --user 54321:54321"; do
	case $more in
	*54321*) uid=54321 ;;
	*)	uid=10001 ;;
	esac
	# shellcheck disable=SC2086
	run $more localhost/execsrv --listen unix:/tmp/execsrv.sock -- sh -c \
	    'execsrvctl status -q && execsrvctl ready -q && execsrvctl run -- \
	    sh -c "touch f && id -u && echo \$HOME && exit 7"; echo $?; ls' \
	    >"$DIR/out" 2>"$DIR/err" || fail "$more: $(cat "$DIR/err")"
	same "in the container $more" "$(tr '\n' ' ' <"$DIR/out")" \
	    "$uid /work 7 f "
done

# The status of the command; a program that is not there; the server alone ends
# when it is told to.
run localhost/execsrv --listen unix:/tmp/execsrv.sock -- sh -c 'exit 5'
same "status of the command" $? 5
run localhost/execsrv --listen unix:/tmp/execsrv.sock -- no-such 2>/dev/null
same "status without a command" $? 127
# shellcheck disable=SC2086
run $strict --name alone -d localhost/execsrv >"$DIR/out" 2>"$DIR/err" ||
    fail "in the background: $(cat "$DIR/err")"
is_healthy() {
	quiet_podman exec alone execsrvctl status -q 2>/dev/null
}
wait_for 20 is_healthy || fail "it is not healthy"
quiet_podman exec alone execsrvctl status >"$DIR/out"
has_line "$DIR/out" '^listen +ws://127.0.0.1:7411' || fail "$(cat "$DIR/out")"
quiet_podman kill -s TERM alone >/dev/null
is_away() {
	! quiet_podman container exists alone
}
wait_for 20 is_away || fail "SIGTERM does not end it"
