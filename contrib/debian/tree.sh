# shellcheck shell=sh
# Fresh Debian trees, for scripts that source this.  As root, with debootstrap
# and a mirror.  Callers set tree, the folder that one is in.
: "${MIRROR:=http://deb.debian.org/debian}"

# tree_unshare SCRIPT ARGUMENT...: again, in a mount and a PID namespace of its
# own: what is mounted or left running goes with it.  Returns in there.
tree_unshare() {
	[ "${TREE_UNSHARED:-}" = yes ] || TREE_UNSHARED=yes exec unshare \
	    --mount --pid --fork --kill-child --mount-proc sh "$@"
}

# tree_make SUITE [PACKAGE,... [TREE.tar]]: a minimal one with these packages;
# what TREE.tar has, if it is there; or TREE.tar as well, if it is named.
tree_make() {
	mkdir "$tree" || return 1
	if [ -f "${3:-}" ]; then
		tar -xpf "$3" -C "$tree" || return 1
	else
		debootstrap --variant=minbase ${2:+--include="$2"} "$1" "$tree" \
		    "$MIRROR" || return 1
		[ -z "${3:-}" ] || tar -cpf "$3" -C "$tree" . || return 1
	fi
	cp -L /etc/resolv.conf "$tree/etc/resolv.conf" 2>/dev/null || :
}

# tree_run COMMAND...: there, with nothing of the caller's environment.  Its
# root is that of a mount namespace: the kernel gives a process in a chroot(2)
# no user namespaces, and so no sandboxes.
tree_run() {
	unshare --mount sh -ec '
		mount --rbind "$1" "$1"
		cd "$1"
		mount -t proc proc proc
		mount --rbind /dev dev
		mount --rbind /sys sys
		pivot_root . mnt
		umount -l /mnt
		shift
		exec chroot / env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
	' sh "$tree" "$@"
}

# tree_satisfy DEPENDENCIES: install what a line of debian/control names.
tree_satisfy() {
	tree_run apt-get -qq update &&
	    tree_run apt-get -qq -y --no-install-recommends satisfy "$1"
}

# tree_needs PACKAGE.deb...: what they depend on, apart from each other.
tree_needs() {
	for package; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' |
	    grep -v execsrv | paste -sd, -
}
