/*
 * fs/writeFile.  A regular file is replaced atomically by a new one if nobody
 * can tell the difference: it has one link, is ours, has no extended
 * attributes, set-ID bits or foreign group, no sandbox has a mount on it
 * (worker/fs/mounted_inodes.h), and its folder is writable.  A crash or a full
 * disk then leaves the old content.  Other files are written in place, as
 * editors do.
 *
 * Nothing is synced.  But with delayed allocation (ext4) a power failure could
 * leave an empty file, therefore writeback is started shortly after the answer
 * (worker/fs/writeback.h).  ext4 does the same in rename(2) over an existing
 * name, but makes us wait: so names are exchanged and the old file is unlinked.
 */
#include "worker/fs/fsop_priv.h"

#include <sys/xattr.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/fs/mounted_inodes.h"

#define KEPT_MODE	07777

static int
link_at(int fd, int dir, const char *name)
{
	char	 self[FD_SELF_MAX];

	return linkat(AT_FDCWD, fd_self(fd, self), dir, name,
	    AT_SYMLINK_FOLLOW);
}

/* Write the content that the operation carries. */
static int
fill_with_data(int fd, const void *arg)
{
	const struct fsop	*op = arg;

	return fsop_write_all(fd, op->data, op->len, 0);
}

/* Make a file without a name (O_TMPFILE), with the content.  -1 with errno. */
static int
make_nameless(int dir, fsop_fill *fill, const void *arg, mode_t mode)
{
	int	 fd;

	fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	if (fd != -1 && fill(fd, arg) == -1)
		fd_close(&fd);
	return fd;
}

/* Whether an error means not permitted or not supported, not a full disk. */
static bool
is_hindrance(int error)
{
	return error == EOPNOTSUPP || error == EISDIR || error == ENOENT ||
	    error == EINVAL || error == EACCES || error == EPERM ||
	    error == EROFS || error == EXDEV || error == EBUSY ||
	    error == EMLINK;
}

/* Extended attributes, including ACLs. */
static bool
has_xattrs(int fd)
{
	return flistxattr(fd, NULL, 0) > 0;
}

static bool
is_ordinary(int fd, const struct stat *st)
{
	return st->st_nlink == 1 && st->st_uid == geteuid() &&
	    (st->st_mode & (S_ISUID | S_ISGID | S_ISVTX)) == 0 &&
	    !has_xattrs(fd);
}

/* Open the folder of an open file and get its name, if it has one. */
static int
fswrite_folder_of(int fd, const struct stat *st, const struct fsop_how *how,
    char path[PATH_MAX], const char **name_out)
{
	struct stat	 now;
	char		 self[FD_SELF_MAX];
	ssize_t		 len;
	int		 dir;

	if ((len = readlink(fd_self(fd, self), path, PATH_MAX - 1)) == -1)
		return -1;
	path[len] = '\0';
	if ((dir = fsop_look_parent(path, true, how, name_out)) == -1)
		return -1;
	if (fstatat(dir, *name_out, &now, AT_SYMLINK_NOFOLLOW) == -1 ||
	    now.st_dev != st->st_dev || now.st_ino != st->st_ino) {
		fd_close(&dir);
		errno = ENOENT;
		return -1;
	}
	return dir;
}

/*
 * Exchange two names in dir and unlink the first.  0, or -1, with nothing
 * changed.
 */
static int
fswrite_exchange(int dir, const char *aside, const char *name,
    const struct stat *old)
{
	struct stat	 st;

	if (renameat2(dir, aside, dir, name, RENAME_EXCHANGE) == -1)
		return errno == EINVAL || errno == ENOSYS ?
		    renameat(dir, aside, dir, name) : -1;
	if (fstatat(dir, aside, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == old->st_dev && st.st_ino == old->st_ino)
		return unlinkat(dir, aside, 0);
	/* Not the file that we replace: exchange back. */
	if (renameat2(dir, aside, dir, name, RENAME_EXCHANGE) == 0)
		errno = EBUSY;
	return -1;
}

/* Give a file the owner, mode and name of the old one. */
static int
take_place(int fd, int dir, const char *name, const struct stat *old)
{
	struct stat	 st;
	char		 aside[48];
	int		 saved;

	if (fstat(fd, &st) == -1 || (st.st_gid != old->st_gid &&
	    fchown(fd, (uid_t)-1, old->st_gid) == -1) ||
	    (st.st_mode != old->st_mode &&
	    fchmod(fd, old->st_mode & KEPT_MODE) == -1))
		return -1;
	/* A rename needs a name, so for a moment there are two. */
	snprintf(aside, sizeof(aside), ".execsrv-%ld-%lu.tmp",
	    (long)getpid(), (unsigned long)st.st_ino);
	if (link_at(fd, dir, aside) == -1)
		return -1;
	/* A sandbox may have been made meanwhile. */
	if (mounted_inodes_has(old))
		errno = EBUSY;
	else if (fswrite_exchange(dir, aside, name, old) == 0)
		return 0;
	saved = errno;
	unlinkat(dir, aside, 0);
	errno = saved;
	return -1;
}

/* Have the kernel start writeback: soon, or now if another file waits. */
static void
write_back(int fd, struct fsop_result *r)
{
	assert(fd != -1);
	if (r->writeback == -1)
		r->writeback = fsop_reopen(fd, O_RDONLY);
	else
		(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int
fsop_replace(int *fd, const struct stat *st, fsop_fill *fill, const void *arg,
    const struct fsop_how *how, struct fsop_result *r)
{
	char		 path[PATH_MAX];
	const char	*name;
	int		 dir, new_fd, rv;

	assert(*fd != -1 && S_ISREG(st->st_mode));
	if (!is_ordinary(*fd, st) || mounted_inodes_has(st) ||
	    (dir = fswrite_folder_of(*fd, st, how, path, &name)) == -1)
		return 1;
	fd_close(fd);
	/* Without a name nobody can open it before it has its owner. */
	rv = new_fd = make_nameless(dir, fill, arg, st->st_mode & 0777);
	/* A default ACL of the folder: the old file has none. */
	if (new_fd != -1 && has_xattrs(new_fd))
		rv = 1;
	else if (new_fd != -1)
		rv = take_place(new_fd, dir, name, st);
	if (rv == 0)
		write_back(new_fd, r);
	/* ETXTBSY: a file that is open for writing cannot be executed. */
	fd_close(&new_fd);
	fd_close(&dir);
	return rv == -1 && is_hindrance(errno) ? 1 : rv;
}

static int
write_in_place(int fd, const struct fsop *op)
{
	return ftruncate(fd, 0) == -1 ? -1 :
	    fsop_write_all(fd, op->data, op->len, 0);
}

/* Replace or write in place; neither if its mode forbids writing. */
static int
write_regular(int fd, const struct stat *st, const struct fsop *op,
    const struct fsop_how *how, struct fsop_result *r)
{
	int	 w, rv;

	if ((w = fsop_reopen(fd, O_WRONLY | O_NONBLOCK)) == -1)
		return -1;
	rv = fsop_replace(&w, st, fill_with_data, op, how, r);
	if (rv == 1 && w == -1 &&
	    (w = fsop_reopen(fd, O_WRONLY | O_NONBLOCK)) == -1)
		return -1;
	if (rv == 1)
		rv = write_in_place(w, op);
	fd_close(&w);
	return rv;
}

/* Write an existing file; errno ENOENT: none. */
static int
write_existing(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct stat	 st;
	int		 fd, rv;

	if ((fd = fsop_look(op->path, op->nofollow, how, &st)) == -1)
		return -1;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		rv = -1;
	} else if (!S_ISREG(st.st_mode)) {
		rv = fsop_refuse(r, FSWHY_NOT_REGULAR);
	} else if (fsop_frees_much(&st, how)) {
		errno = EAGAIN;
		rv = -1;
	} else {
		rv = write_regular(fd, &st, op, how, r);
	}
	fd_close(&fd);
	return rv;
}

/* Write a new file; errno EEXIST: the name exists by now. */
static int
write_new(const struct fsop *op, const struct fsop_how *how)
{
	const char	*name;
	int		 dir, fd, rv = -1, saved;

	if ((dir = fsop_look_parent(op->path, op->nofollow, how,
	    &name)) == -1)
		return -1;
	if ((fd = make_nameless(dir, fill_with_data, op, op->mode)) != -1) {
		rv = link_at(fd, dir, name);
	} else if (is_hindrance(errno) && (fd = openat(dir, name, O_WRONLY |
	    O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, op->mode)) != -1) {
		rv = fsop_write_all(fd, op->data, op->len, 0);
		saved = errno;
		if (rv == -1)
			unlinkat(dir, name, 0);
		errno = saved;
	}
	fd_close(&fd);
	fd_close(&dir);
	return rv;
}

/* Write through a dangling symlink: create its target. */
static int
write_through_link(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct stat	 st;
	int		 fd, rv;

	if (how->nonblock || op->nofollow) {
		errno = how->nonblock ? EAGAIN : ELOOP;
		return -1;
	}
	if ((fd = open(op->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY |
	    O_NONBLOCK, op->mode)) == -1)
		return -1;
	if (fstat(fd, &st) == -1)
		rv = -1;
	else if (!S_ISREG(st.st_mode))
		rv = fsop_refuse(r, FSWHY_NOT_REGULAR);
	else if ((rv = ftruncate(fd, 0)) == 0)
		rv = fsop_write_all(fd, op->data, op->len, 0);
	fd_close(&fd);
	return rv;
}

int
fsop_write(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	int	 i, rv;

	if (how->nonblock && op->len > LIMIT_FILE_QUICK) {
		errno = EAGAIN;
		return -1;
	}
	/* The file may be made or removed meanwhile. */
	for (i = 0; i < 3; i++) {
		rv = write_existing(op, how, r);
		if (rv == 0 || r->why != FSWHY_NONE || errno != ENOENT)
			return rv;
		if (write_new(op, how) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return write_through_link(op, how, r);
}
