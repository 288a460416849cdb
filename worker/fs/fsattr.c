/* Mode, times, links, renaming. */
#include "worker/fs/fsop_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "worker/fs/mounted_inodes.h"

#define MODE		07777
#define NS		1000000000ULL

/*
 * In a sandbox changes require the right to write, as Landlock does not
 * restrict changes of modes and times.  Prove it by opening a file for writing,
 * or by making a file in a folder.
 */
static int
prove(int fd, const struct stat *st)
{
	int	 w = -1;

	if (S_ISREG(st->st_mode))
		w = fsop_reopen(fd, O_WRONLY | O_NONBLOCK);
	else if (S_ISDIR(st->st_mode))
		w = openat(fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	else
		errno = EPERM;
	if (w == -1)
		return -1;
	fd_close(&w);
	return 0;
}

static struct timespec
fsattr_time_of(bool is_given, uint64_t ns)
{
	struct timespec	 t = { .tv_nsec = UTIME_OMIT };

	if (is_given) {
		t.tv_sec = (time_t)(ns / NS);
		t.tv_nsec = (long)(ns % NS);
	}
	return t;
}

int
fsop_setattr(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct timespec	 times[2];
	struct stat	 st;
	char		 self[FD_SELF_MAX];
	int		 fd, rv = -1;

	(void)r;
	if ((fd = fsop_look(op->path, op->nofollow, how, &st)) == -1)
		return -1;
	if (op->is_confined && prove(fd, &st) == -1)
		goto out;
	/* By descriptor: the name may belong to another file by now. */
	fd_self(fd, self);
	times[0] = fsattr_time_of(op->sets_atime, op->atime_ns);
	times[1] = fsattr_time_of(op->sets_mtime, op->mtime_ns);
	if (op->sets_mode && chmod(self, op->mode & MODE) == -1)
		goto out;
	rv = !op->sets_atime && !op->sets_mtime ? 0 :
	    utimensat(AT_FDCWD, self, times, 0);
 out:
	fd_close(&fd);
	return rv;
}

int
fsop_symlink(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	const char	*name;
	int		 dir, rv;

	(void)r;
	if ((dir = fsop_look_parent(op->path, op->nofollow, how,
	    &name)) == -1)
		return -1;
	rv = symlinkat(op->to, dir, name);
	fd_close(&dir);
	return rv;
}

/* Whether the destination of a rename may be replaced now. */
static int
may_replace(int dir, const char *name, const struct fsop_how *how)
{
	struct stat	 st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno == ENOENT ? 0 : -1;
	if (mounted_inodes_has(&st)) {
		errno = EBUSY;
		return -1;
	}
	if (st.st_nlink == 1 && fsop_frees_much(&st, how)) {
		errno = EAGAIN;
		return -1;
	}
	return 0;
}

int
fsop_rename(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	const char	*name, *to_name;
	int		 dir, to = -1, rv = -1;

	(void)r;
	if ((dir = fsop_look_parent(op->path, op->nofollow, how,
	    &name)) == -1)
		return -1;
	if ((to = fsop_look_parent(op->to, op->nofollow, how,
	    &to_name)) != -1 && may_replace(to, to_name, how) == 0)
		rv = renameat(dir, name, to, to_name);
	fd_close(&to);
	fd_close(&dir);
	return rv;
}
