/* Copy the content of a file, see dirstack.h. */
#include "worker/fs/dirstack.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/limit.h"
#include "worker/fs/fsop_priv.h"

#define STEP	(4 * 1024 * 1024)	/* bytes between checks for cancel */
#define PIECE	(128 * 1024)		/* bytes of a read(2) */

struct content {
	int			 in, out;
	const struct fsop_how	*how;
	char			*piece;		/* buffer, when needed */
};

/* Copy up to n bytes by read and write.  Return bytes, 0 at the end, or -1. */
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
 * Copy with copy_file_range(2).  File systems have different errors for "not
 * supported", some return 0: fall back on anything.
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

/* Copy from *offp to end.  1: done; 0: EOF, at *offp; -1 with errno. */
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
		assert(got <= end - *offp);
		*offp += got;
		if (*offp - looked >= STEP) {
			looked = *offp;
			if (fsop_cancelled(c->how) == -1)
				return -1;
		}
	}
	return 1;
}

/* Copy the data, skip holes, and set the size. */
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
			/* SEEK_DATA unsupported, or truncated file. */
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
