/* The way to what is protected in a writable folder. */
#include "worker/mounting.h"

#include <sys/mount.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

bool
mounting_is_in_writable(const struct mounting *m, const char *path)
{
	char	 parent[PATH_MAX], *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	if ((slash = strrchr(parent, '/')) == NULL)
		return false;
	slash[slash == parent] = '\0';
	return plan_decide(m->plan, parent) == PLAN_WRITE;
}

/* Mount a folder on itself: nobody can rename it then (rename(2), EBUSY). */
static int
pin(struct mounting *m, const char *path)
{
	struct statx	 x;
	int		 fd, tree, rv = 0;

	if ((fd = mounting_open(path)) == -1)
		/* Links are shut, and what is missing is covered. */
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
		    0 : mounting_failed(m, "protecting", path);
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &x) == -1) {
		rv = mounting_failed(m, "protecting", path);
	} else if ((x.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) {
		tree = open_tree(fd, "", AT_EMPTY_PATH | AT_RECURSIVE |
		    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		rv = tree == -1 ? mounting_failed(m, "protecting", path) :
		    mounting_put(m, tree, fd, path);
	}
	fd_close(&fd);
	return rv;
}

int
mounting_pin_way(struct mounting *m, const char *path)
{
	char		 part[PATH_MAX];
	const char	*end = path;

	for (;;) {
		end = strchrnul(end + 1, '/');
		if (*end == '\0')
			return 0;
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (mounting_is_in_writable(m, part) && pin(m, part) == -1)
			return -1;
	}
}
