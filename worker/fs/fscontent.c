/* The content of one file to another: see fstree.h. */
#include "worker/fs/dirstack.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/limit.h"
#include "worker/fs/fsop_priv.h"

#define STEP	(4 * 1024 * 1024)	/* between looks whether to go on */
#define PIECE	(128 * 1024)		/* by way of our own memory */

struct content {
	int			 in, out;
	const struct fsop_how	*how;
	char			*piece;		/* PIECE bytes, when needed */
};

/* Up to n bytes at off by way of our memory.  Bytes, 0 at the end, or -1. */
static ssize_t
by_hand(struct content *c, off_t off, size_t n)
{
	ssize_t	 got;

	if (c->piece == NULL && (c->piece = malloc(PIECE)) == NULL)
		return -1;
	if (n > PIECE)
		n = PIECE;
	do
		got = pread(c->in, c->piece, n, off);
	while (got == -1 && errno == EINTR);
	if (got > 0 && fsop_write_all(c->out, c->piece, (size_t)got,
	    (uint64_t)off) == -1)
		return -1;
	return got;
}

/*
 * The same by the kernel where it can.  File systems differ in what they say
 * when they cannot, and some say 0, so whatever is wrong is tried by hand.
 */
static ssize_t
by_kernel(struct content *c, off_t off, size_t n)
{
	off_t	 from = off, to = off;
	ssize_t	 got;

	if (c->piece == NULL) {
		got = copy_file_range(c->in, &from, c->out, &to, n, 0);
		if (got > 0 || (got == -1 && (errno == ENOSPC ||
		    errno == EDQUOT || errno == EFBIG || errno == EIO)))
			return got;
	}
	return by_hand(c, off, n);
}

/*
 * Bytes from *offp to end.  1: all of them; 0: the file ended before, at
 * *offp; -1: errno.
 */
static int
copy_range(struct content *c, off_t *offp, off_t end)
{
	off_t	 looked = *offp;
	ssize_t	 got;

	while (*offp < end) {
		got = by_kernel(c, *offp,
		    end - *offp < STEP ? (size_t)(end - *offp) : STEP);
		if (got <= 0)
			return (int)got;
		*offp += got;
		if (*offp - looked >= STEP) {
			looked = *offp;
			if (fsop_cancelled(c->how) == -1)
				return -1;
		}
	}
	return 1;
}

/* Only what is not a hole; the rest up to size by the length of out. */
static int
copy_data(struct content *c, off_t size)
{
	off_t	 data = 0, hole = 0;
	int	 rv;

	while (hole < size) {
		if ((data = lseek(c->in, hole, SEEK_DATA)) == -1 &&
		    errno == ENXIO)
			break;
		if (data == -1 || (hole = lseek(c->in, data,
		    SEEK_HOLE)) == -1 || hole <= data) {
			/* No such thing here, or it is being cut off. */
			data = data == -1 ? hole : data;
			hole = size;
		}
		if (hole > size)
			hole = size;
		if (data >= size)
			break;
		if ((rv = copy_range(c, &data, hole)) != 1)
			return rv;
		if (fsop_cancelled(c->how) == -1)
			return -1;
	}
	return ftruncate(c->out, size);
}

int
content_copy(int in, int out, const struct stat *st,
    const struct fsop_how *how)
{
	struct content	 c = { in, out, how, NULL };
	off_t		 off = 0;
	int		 rv;

	if (st->st_size == 0) {
		rv = copy_range(&c, &off, LIMIT_FILE_READ);
		if (rv == 1) {
			errno = EFBIG;
			rv = -1;
		}
	} else if (st->st_blocks < st->st_size / 512) {
		rv = copy_data(&c, st->st_size);
	} else {
		rv = copy_range(&c, &off, st->st_size);
	}
	free(c.piece);
	return rv == -1 ? -1 : 0;
}
