/* The content of files: read, open, blocks. */
#include "worker/fs/fsop_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/fs/lookup.h"

#define GUESS	65536	/* bytes of a file without a size (/proc) */

/* Read n bytes at offset, fewer at EOF; -1 with errno. */
static ssize_t
read_at(int fd, void *to, size_t n, uint64_t offset)
{
	size_t	 got = 0;
	ssize_t	 r;

	while (got < n) {
		r = pread(fd, (char *)to + got, n - got,
		    (off_t)(offset + got));
		if (r == -1 && errno == EINTR)
			continue;
		if (r == -1)
			return -1;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

/* Open a regular file for reading or, for fsop_open(), with flags. */
static int
open_regular(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r, int flags, struct stat *st)
{
	int	 fd, path_fd;

	if ((path_fd = fsop_look(op->path, op->nofollow, how, st)) == -1)
		return -1;
	if (!S_ISREG(st->st_mode)) {
		fd_close(&path_fd);
		return fsop_refuse(r, FSWHY_NOT_REGULAR);
	}
	if ((flags & O_TRUNC) != 0 && fsop_frees_much(st, how)) {
		fd_close(&path_fd);
		errno = EAGAIN;
		return -1;
	}
	fd = fsop_reopen(path_fd, flags | O_NONBLOCK);
	fd_close(&path_fd);
	return fd;
}

/*
 * Read to EOF, whatever the size was.  A file that grows is read again with the
 * maximum: nothing may be held while waiting for permission to hold more, or
 * two operations could wait for each other.
 */
static int
fsdata_read_all(int fd, size_t guess, const struct fsop_how *how,
    struct fsop_result *r)
{
	size_t	 off = 0, n = guess, reserved = LIMIT_FILE_QUICK;
	ssize_t	 got;
	char	*p;

	assert(fd != -1 && guess > 0);
	for (;; n = GUESS) {
		if (off + n > LIMIT_FILE_ANSWER)
			n = LIMIT_FILE_ANSWER + 1 - off;
		if (off + n > reserved && how->reserve != NULL) {
			buf_fini(&r->payload);
			reserved = off == 0 ? n : LIMIT_FILE_ANSWER + 1;
			n = reserved;
			off = 0;
			if (fsop_reserve(how, reserved) == -1)
				return -1;
		}
		if ((p = buf_reserve(&r->payload, n)) == NULL ||
		    (got = read_at(fd, p, n, off)) == -1)
			return -1;
		buf_commit(&r->payload, (size_t)got);
		off += (size_t)got;
		if ((size_t)got < n)
			return 0;
		if (off > LIMIT_FILE_ANSWER)
			return fsop_refuse(r, FSWHY_TOO_LONG);
		if (how->nonblock && off > how->max_out) {
			errno = EAGAIN;
			return -1;
		}
		if (fsop_cancelled(how) == -1)
			return -1;
	}
}

int
fsop_read(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct stat	 st;
	size_t		 guess;
	int		 fd, rv;

	if ((fd = open_regular(op, how, r, O_RDONLY, &st)) == -1)
		return -1;
	if ((uint64_t)st.st_size > LIMIT_FILE_READ)
		rv = fsop_refuse(r, FSWHY_TOO_LARGE);
	else if ((uint64_t)st.st_size > LIMIT_FILE_ANSWER)
		rv = fsop_refuse(r, FSWHY_TOO_LONG);
	else if (how->nonblock && how->gives_file && st.st_size > 0 &&
	    (uint64_t)st.st_size <= LIMIT_FILE_QUICK) {
		/* Passing the file costs less than copying its bytes. */
		r->fd = fd;
		r->size = (uint64_t)st.st_size;
		return 0;
	} else if (how->nonblock && (uint64_t)st.st_size > how->max_out) {
		errno = EAGAIN;
		rv = -1;
	} else {
		/* One more, to see EOF with the same read(2). */
		guess = st.st_size > 0 ? (size_t)st.st_size + 1 : GUESS;
		rv = fsdata_read_all(fd, guess, how, r);
	}
	fd_close(&fd);
	return rv;
}

int
fsop_read_small(const char *path, size_t max, const struct fsop_how *how,
    struct buf *out)
{
	struct stat	 st;
	int		 path_fd, fd = -1, rv = -1;
	ssize_t		 got;
	char		*p;

	assert(out->len == 0 && max < out->max);
	if ((path_fd = fsop_look(path, false, how, &st)) == -1)
		return -1;
	if (!S_ISREG(st.st_mode))
		errno = EISDIR;
	else if ((uint64_t)st.st_size > max)
		errno = EFBIG;
	else
		fd = fsop_reopen(path_fd, O_RDONLY | O_NONBLOCK);
	fd_close(&path_fd);
	if (fd == -1)
		return -1;
	/* It may be longer by now, or have no size at all (/proc). */
	if ((p = buf_reserve(out, max + 1)) != NULL &&
	    (got = read_at(fd, p, max + 1, 0)) != -1) {
		if ((size_t)got <= max) {
			buf_commit(out, (size_t)got);
			rv = 0;
		} else {
			errno = EFBIG;
		}
	}
	fd_close(&fd);
	return rv;
}

/* Open for writing, created or truncated. */
static int
open_replaced(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	const char	*name;
	struct stat	 st;
	int		 dir, fd;

	fd = open_regular(op, how, r, O_WRONLY | O_TRUNC, &st);
	if (fd != -1 || r->why != FSWHY_NONE || errno != ENOENT)
		return fd;
	if ((dir = fsop_look_parent(op->path, op->nofollow, how,
	    &name)) == -1)
		return -1;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOCTTY | O_NONBLOCK, op->mode);
	fd_close(&dir);
	if (fd != -1 || errno != EEXIST)
		return fd;
	/* A dangling symlink: its target is created, blocking only. */
	if (how->nonblock || op->nofollow) {
		errno = how->nonblock ? EAGAIN : ELOOP;
		return -1;
	}
	fd = open(op->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
	    O_NOCTTY | O_NONBLOCK, op->mode);
	if (fd != -1 && (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))) {
		fd_close(&fd);
		return fsop_refuse(r, FSWHY_NOT_REGULAR);
	}
	return fd;
}

int
fsop_open(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct stat	 st;

	r->fd = op->replace ? open_replaced(op, how, r) :
	    open_regular(op, how, r, op->update ? O_WRONLY : O_RDONLY, &st);
	if (r->fd == -1)
		return -1;
	r->is_local = lookup_is_local(r->fd);
	return 0;
}

int
fsop_pread(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	ssize_t	 got;
	char	*p;

	(void)how;
	if ((p = buf_reserve(&r->payload, op->len)) == NULL ||
	    (got = read_at(op->fd, p, op->len, op->offset)) == -1)
		return -1;
	buf_commit(&r->payload, (size_t)got);
	return 0;
}

int
fsop_pwrite(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	(void)how;
	(void)r;
	return fsop_write_all(op->fd, op->data, op->len, op->offset);
}

void
fsop_read_opened(struct fsop_result *r)
{
	struct fsop_how	 how = { .cancel_fd = -1 };

	assert(r->fd != -1);
	errno = EFBIG;
	if (r->size > LIMIT_FILE_QUICK ||
	    fsdata_read_all(r->fd, (size_t)r->size + 1, &how, r) == -1) {
		r->error = r->why == FSWHY_NONE ? errno : 0;
		buf_fini(&r->payload);
	}
	fd_close(&r->fd);
}
