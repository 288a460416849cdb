/* The way to what is protected in a writable folder. */
#include "worker/mounting.h"

#include <sys/file.h>
#include <sys/mount.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"

bool
mounting_is_in_writable(const struct mounting *m, const char *path)
{
	return plan_decide_around(m->plan, path) == PLAN_WRITE;
}

const char *
mounting_where(const struct mounting *m, const char *path, char *out)
{
	const struct place	*p;
	size_t			 i, n;

	for (i = m->plan->n; i-- > 0;) {
		p = &m->places[i];
		n = strcmp(p->rule->path, "/") == 0 ? 0 :
		    strlen(p->rule->path);
		if (p->rule->kind != PLAN_WRITE || p->real == NULL ||
		    strncmp(p->rule->path, path, n) != 0 || path[n] != '/')
			continue;
		if (snprintf(out, PATH_MAX, "%s%s",
		    strcmp(p->real, "/") == 0 ? "" : p->real, path + n) >=
		    PATH_MAX)
			break;
		return out;
	}
	return path;
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
	char		 part[PATH_MAX], real[PATH_MAX];
	const char	*end = path;

	for (;;) {
		end = strchrnul(end + 1, '/');
		if (*end == '\0')
			return 0;
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (mounting_is_in_writable(m, part) &&
		    pin(m, mounting_where(m, part, real)) == -1)
			return -1;
	}
}

/* --- what stands in for what is not there --- */

bool
mounting_is_stand_in(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && (st->st_mode & 07777) == STAND_IN &&
	    st->st_uid == geteuid() && st->st_nlink <= 2;
}

static int
remember(struct mounted *out, const char *path, int fd)
{
	size_t	 len = strlen(path) + 1;

	if (len > sizeof(out->made) - out->made_len ||
	    out->nlocks >= MOUNTED_LOCKS) {
		errno = E2BIG;
		return -1;
	}
	memcpy(out->made + out->made_len, path, len);
	out->made_len += len;
	out->locks[out->nlocks++] = fd;
	return 0;
}

/*
 * Make or take over the folder that stands in at that path: locked, and still
 * there then.  Its descriptor, or -1 with errno; EAGAIN: try again.
 */
static int
claim_in(int dir, const char *name)
{
	struct stat	 st, now;
	int		 fd;

	if (mkdirat(dir, name, STAND_IN) == -1 && errno != EEXIST)
		return -1;
	if ((fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1) {
		if (errno == ENOENT)
			errno = EAGAIN;
		return -1;
	}
	if (fstat(fd, &st) == 0 && !mounting_is_stand_in(&st)) {
		fd_close(&fd);
		errno = ESTALE;		/* somebody made a real one */
		return -1;
	}
	if (flock(fd, LOCK_SH | LOCK_NB) == 0 &&
	    fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    now.st_ino == st.st_ino && now.st_dev == st.st_dev)
		return fd;
	fd_close(&fd);
	errno = EAGAIN;
	return -1;
}

/* No link on the way: it would be made elsewhere. */
static int
claim(const char *path)
{
	const char	*slash = strrchr(path, '/');
	char		 parent[PATH_MAX];
	int		 dir, fd;

	snprintf(parent, sizeof(parent), "%.*s",
	    slash == path ? 1 : (int)(slash - path), path);
	if ((dir = mounting_open(parent)) == -1)
		return -1;
	fd = claim_in(dir, slash + 1);
	fd_close(&dir);
	return fd;
}

int
mounting_stand_in(struct mounting *m, const char *path)
{
	struct timespec	 ms = { 0, 1000000 };
	int		 fd, tries = 0;

	while ((fd = claim(path)) == -1 && errno == EAGAIN && tries++ < 100)
		nanosleep(&ms, NULL);
	if (fd == -1 || remember(m->out, path, fd) == -1) {
		fd_close(&fd);
		return mounting_failed(m, "covering", path);
	}
	return 0;
}
