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

static int
add(uint64_t id)
{
	uint64_t	*bigger;

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

/* "36 35 98:0 /root /point options optional... - type source options" */
static int
read_line(char *line)
{
	char	*dash, *end, *type;
	uint64_t id;

	errno = 0;
	id = strtoull(line, &end, 10);
	if (end == line || *end != ' ' || errno != 0 ||
	    (dash = strstr(end, " - ")) == NULL)
		return 0;
	type = dash + 3;
	type[strcspn(type, " \n")] = '\0';
	return is_local_type(type) ? add(id) : 0;
}

static int
read_lines(FILE *f)
{
	char	*line = NULL;
	size_t	 cap = 0;
	int	 rv = 0;

	table.n = 0;
	while (rv == 0 && getline(&line, &cap, f) != -1)
		rv = read_line(line);
	free(line);
	return rv == 0 && feof(f) ? 0 : -1;
}

/* Open it if it is not, or not this process's. */
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

	if (!is_fresh() && read_table() == -1) {
		log_warn("mountinfo");
		/* The kernel tells of a change once: read it all next time. */
		fd_close(&table.fd);
		return false;
	}
	for (i = 0; i < table.n; i++)
		if (table.ids[i] == id)
			return true;
	return false;
}
