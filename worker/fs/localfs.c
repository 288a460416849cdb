#include "worker/fs/localfs.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

/* Local file systems.  Others may block: nfs, fuse, 9p, autofs. */
static const char *const local_types[] = {
	"aufs", "bcachefs", "binfmt_misc", "bpf", "btrfs", "cgroup", "cgroup2",
	"configfs", "cramfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
	"erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfsplus",
	"hugetlbfs", "iso9660", "jfs", "minix", "mqueue", "msdos", "nilfs2",
	"nsfs", "ntfs3", "overlay", "proc", "pstore", "ramfs", "reiserfs",
	"rootfs", "securityfs", "squashfs", "sysfs", "tmpfs", "tracefs",
	"udf", "vfat", "xfs", "zfs"
};

/* Types of a root that is not in the table (statfs(2)). */
static const uint32_t local_magics[] = {
	0x01021994,	/* tmpfs */
	0x0000ef53,	/* ext2, ext3, ext4 */
	0x2fc12fc1,	/* zfs */
	0x58465342,	/* xfs */
	0x73717368,	/* squashfs */
	0x794c7630,	/* overlay */
	0x858458f6,	/* ramfs, rootfs */
	0x9123683e,	/* btrfs */
	0xca451a4e,	/* bcachefs */
	0xe0f5e1e2,	/* erofs */
	0xf2f52010	/* f2fs */
};

static struct {
	pid_t	  pid;		/* the process that opened it */
	int	  fd;		/* of mountinfo, or -1 */
	uint64_t *ids;		/* mount ids of local ones */
	size_t	  n, cap;
} table = { .fd = -1 };

static bool
is_local_type(const char *type)
{
	size_t	 i;

	for (i = 0; i < sizeof(local_types) / sizeof(local_types[0]); i++)
		if (strcmp(type, local_types[i]) == 0)
			return true;
	return false;
}

static int
localfs_add(uint64_t id)
{
	uint64_t	*bigger;

	assert(table.n <= table.cap);
	if (table.n == table.cap) {
		if ((bigger = reallocarray(table.ids, table.cap + 64,
		    sizeof(*bigger))) == NULL)
			return -1;
		table.ids = bigger;
		table.cap += 64;
	}
	table.ids[table.n++] = id;
	return 0;
}

static bool
is_local_magic(uint32_t magic)
{
	size_t	 i;

	for (i = 0; i < sizeof(local_magics) / sizeof(local_magics[0]); i++)
		if (local_magics[i] == magic)
			return true;
	return false;
}

/*
 * In a chroot mountinfo does not list the mount of the root, unless that is a
 * mount point.  statfs(2) may block, so ask for the root only, without which
 * nothing runs, and once for each root.
 */
static int
add_unlisted_root(void)
{
	static struct {
		uint64_t id;
		bool	 is_asked, is_local;
	}		 root;
	struct statx	 x;
	struct statfs	 f;

	if (statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == -1 ||
	    (x.stx_mask & STATX_MNT_ID) == 0)
		return 0;
	if (!root.is_asked || root.id != x.stx_mnt_id) {
		root.is_local = statfs("/", &f) == 0 &&
		    is_local_magic((uint32_t)f.f_type);
		root.id = x.stx_mnt_id;
		root.is_asked = true;
	}
	return root.is_local ? localfs_add(root.id) : 0;
}

/* Parse "36 35 98:0 /root /point options optional... - type source options". */
static int
localfs_read_line(char *line, bool *has_root)
{
	char	*dash, *end, *type;
	uint64_t id;
	char	 point[3];

	errno = 0;
	id = strtoull(line, &end, 10);
	if (end == line || *end != ' ' || errno != 0 ||
	    (dash = strstr(end, " - ")) == NULL)
		return 0;
	if (sscanf(end, " %*s %*s %*s %2s", point) == 1 &&
	    strcmp(point, "/") == 0)
		*has_root = true;
	type = dash + 3;
	type[strcspn(type, " \n")] = '\0';
	return is_local_type(type) ? localfs_add(id) : 0;
}

static int
read_lines(FILE *f)
{
	char	*line = NULL;
	size_t	 cap = 0;
	bool	 has_root = false;
	int	 rv = 0;

	table.n = 0;
	while (rv == 0 && getline(&line, &cap, f) != -1)
		rv = localfs_read_line(line, &has_root);
	free(line);
	if (rv == -1 || !feof(f))
		return -1;
	return has_root ? 0 : add_unlisted_root();
}

/* Open mountinfo unless this process has. */
static int
open_table(void)
{
	if (table.fd != -1 && table.pid == getpid())
		return 0;
	fd_close(&table.fd);
	table.pid = getpid();
	table.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	return table.fd == -1 ? -1 : 0;
}

static int
read_table(void)
{
	FILE	*f;
	int	 copy, rv;

	if (open_table() == -1 || lseek(table.fd, 0, SEEK_SET) == -1 ||
	    (copy = fcntl(table.fd, F_DUPFD_CLOEXEC, 3)) == -1)
		return -1;
	if ((f = fdopen(copy, "re")) == NULL) {
		close(copy);
		return -1;
	}
	rv = read_lines(f);
	fclose(f);
	return rv;
}

/* Whether the table is up to date. */
static bool
is_fresh(void)
{
	struct pollfd	 p = { table.fd, POLLPRI, 0 };

	if (table.fd == -1 || table.pid != getpid())
		return false;
	return poll(&p, 1, 0) == 0;
}

bool
mount_is_local(uint64_t id)
{
	size_t	 i;

	if (!is_fresh() && read_table() == -1) {
		log_warn("cannot read /proc/self/mountinfo");
		/* The kernel reports a change once: read all next time. */
		fd_close(&table.fd);
		return false;
	}
	for (i = 0; i < table.n; i++)
		if (table.ids[i] == id)
			return true;
	return false;
}
