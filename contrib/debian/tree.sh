# shellcheck shell=sh
# Fresh Debian trees, for scripts that source this.  As root.  Callers have
# die() and step(), and set tree, the folder that is made.  Wants debootstrap
# and a mirror.

# tree_make SUITE MIRROR LOG TREE.tar [PACKAGE,...]: TREE.tar, unless empty, is
# unpacked instead if it is there, and made if it is not.
tree_make() {
	mkdir "$tree"
	if [ -n "$4" ] && [ -f "$4" ]; then
		step "unpack $4"
		tar -xpf "$4" -C "$tree"
		return
	fi
	step "debootstrap $1"
	debootstrap --variant=minbase ${5:+--include="$5"} "$1" "$tree" \
	    "$2" >"$3" || {
		cat "$3" >&2
		die debootstrap
	}
	[ -z "$4" ] || tar -cpf "$4" -C "$tree" .
}

# In a mount namespace of the caller's, which takes them along.
tree_mount() {
	mount -t proc proc "$tree/proc"
	mount --rbind /dev "$tree/dev"
	cp -L /etc/resolv.conf "$tree/etc/resolv.conf" 2>/dev/null || :
}

tree_unmount() {
	umount -l "$tree/proc" "$tree/dev" "$tree/sys" 2>/dev/null || :
}

# A command there, with nothing of the caller's environment.
inside() {
	chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
	    HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}
