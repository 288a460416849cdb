#include "worker/fs/lookup.h"

#include <linux/openat2.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "worker/fs/localfs.h"
#include "worker/fs/ownproc.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED		0x20	/* Linux 5.12 */
#endif

static int
lookup_open_how(int dir, const char *path, const struct lookup *how,
    uint64_t resolve)
{
	return fd_openat2(dir, path,
	    O_PATH | (how->nofollow_last ? O_NOFOLLOW : 0),
	    resolve | RESOLVE_NO_MAGICLINKS |
	    (how->nofollow ? RESOLVE_NO_SYMLINKS : 0));
}

/* nonblock: only what the kernel has cached. */
static int
status(int fd, bool nonblock, struct statx *x)
{
	return statx(fd, "",
	    AT_EMPTY_PATH | (nonblock ? AT_STATX_DONT_SYNC : 0),
	    STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, x);
}

static bool
is_local(const struct statx *x)
{
	return (x->stx_mask & STATX_MNT_ID) != 0 &&
	    mount_is_local(x->stx_mnt_id);
}

bool
lookup_is_local(int fd)
{
	struct statx	 x;

	return status(fd, true, &x) == 0 && is_local(&x);
}

/* Look up below a local folder, without leaving its mount (EXDEV). */
static int
lookup_below(int dir, const char *rest, const struct lookup *how)
{
	struct statx	 x;

	if (status(dir, true, &x) == -1)
		return -1;
	if (!is_local(&x)) {
		errno = EXDEV;
		return -1;
	}
	return lookup_open_how(dir, rest, how, RESOLVE_NO_XDEV);
}

/*
 * Open the deepest folder that is cached and go on from there: a name that is
 * not cached most often does not exist.  While something is being mounted, the
 * root may be the one that is not cached.
 */
static int
from_cached_parent(const char *path, const struct lookup *how)
{
	static const struct lookup	 plain;
	struct lookup			 up = plain;
	char				 parent[PATH_MAX];
	size_t				 len = strlen(path);
	int				 dir, fd;

	up.nofollow = how->nofollow;
	memcpy(parent, path, len + 1);
	for (;;) {
		while (len > 1 && parent[len - 1] != '/')
			len--;
		while (len > 1 && parent[len - 1] == '/')
			len--;
		parent[len] = '\0';
		dir = lookup_open_how(AT_FDCWD, parent, &up, RESOLVE_CACHED);
		if (dir != -1 || errno != EAGAIN || len == 1)
			break;
	}
	if (dir == -1)
		return -1;
	path += len + (len > 1 ? 1 : 0);
	fd = lookup_below(dir, *path != '\0' ? path : ".", how);
	fd_close(&dir);
	if (fd == -1 && errno == EXDEV)
		errno = EAGAIN;
	return fd;
}

static int
known(int fd, bool nonblock, struct statx *x)
{
	if (fd == -1)
		return -1;
	if (status(fd, nonblock, x) == -1)
		goto fail;
	if (nonblock && !is_local(x))
		errno = EAGAIN;
	else if (is_ownproc(fd, x))
		errno = EACCES;
	else
		return fd;
 fail:
	fd_close(&fd);
	return -1;
}

int
lookup(const char *path, const struct lookup *how, struct statx *x)
{
	int	 fd;

	if (!how->nonblock)
		return known(lookup_open_how(AT_FDCWD, path, how, 0), false, x);
	fd = lookup_open_how(AT_FDCWD, path, how, RESOLVE_CACHED);
	if (fd == -1 && errno == EAGAIN && strlen(path) < PATH_MAX)
		fd = from_cached_parent(path, how);
	return known(fd, true, x);
}

int
lookup_at(int dir, const char *name, const struct lookup *how,
    struct statx *x)
{
	int	 fd;

	assert(dir != -1 && name[0] != '\0');
	if (!how->nonblock)
		return known(lookup_open_how(dir, name, how, 0), false, x);
	fd = lookup_open_how(dir, name, how, RESOLVE_CACHED);
	if (fd == -1 && errno == EAGAIN &&
	    (fd = lookup_below(dir, name, how)) == -1 && errno == EXDEV)
		errno = EAGAIN;
	return known(fd, true, x);
}
