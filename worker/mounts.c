#include "worker/mounts.h"

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

/* Whatever is not named here may wait for somebody: nfs, fuse, 9p, autofs. */
static const char *const local_types[] = {
	"aufs", "bcachefs", "binfmt_misc", "bpf", "btrfs", "cgroup", "cgroup2",
	"configfs", "cramfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
	"erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfsplus",
	"hugetlbfs", "iso9660", "jfs", "minix", "mqueue", "msdos", "nilfs2",
	"nsfs", "ntfs3", "overlay", "proc", "pstore", "ramfs", "reiserfs",
	"rootfs", "securityfs", "squashfs", "sysfs", "tmpfs", "tracefs",
	"udf", "vfat", "xfs", "zfs"
};

static struct {
	pid_t	  pid;		/* whose table it is */
	int	  fd;		/* of mountinfo; -1: not open */
	uint64_t *ids;		/* of the local ones */
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

static void
add(uint64_t id)
{
	uint64_t	*bigger;

	if (table.n == table.cap) {
		if ((bigger = reallocarray(table.ids, table.cap + 64,
		    sizeof(*bigger))) == NULL)
			return;		/* unknown is as good as remote */
		table.ids = bigger;
		table.cap += 64;
	}
	table.ids[table.n++] = id;
}

/* "36 35 98:0 /root /point options optional... - type source options" */
static void
read_line(char *line)
{
	char	*dash, *end, *type;
	uint64_t id;

	errno = 0;
	id = strtoull(line, &end, 10);
	if (end == line || *end != ' ' || errno != 0 ||
	    (dash = strstr(end, " - ")) == NULL)
		return;
	type = dash + 3;
	type[strcspn(type, " \n")] = '\0';
	if (is_local_type(type))
		add(id);
}

static void
read_table(void)
{
	FILE	*f;
	char	*line = NULL;
	size_t	 cap = 0;
	int	 copy;

	table.n = 0;
	if (lseek(table.fd, 0, SEEK_SET) == -1 ||
	    (copy = fcntl(table.fd, F_DUPFD_CLOEXEC, 3)) == -1)
		return;
	if ((f = fdopen(copy, "re")) == NULL) {
		close(copy);
		return;
	}
	while (getline(&line, &cap, f) != -1)
		read_line(line);
	free(line);
	fclose(f);
}

/* Whether the table is that of now. */
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

	if (!is_fresh()) {
		if (table.fd == -1 || table.pid != getpid()) {
			fd_close(&table.fd);
			table.pid = getpid();
			table.fd = open("/proc/self/mountinfo",
			    O_RDONLY | O_CLOEXEC);
			if (table.fd == -1) {
				log_warn("mountinfo");
				return false;
			}
		}
		read_table();
	}
	for (i = 0; i < table.n; i++)
		if (table.ids[i] == id)
			return true;
	return false;
}
