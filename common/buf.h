/*
 * A growing byte queue with a hard ceiling: bytes are put at the end and
 * drained from the front.  Embedded; memory only while it holds something
 * (buf_trim()).  The owner ends it with buf_fini().
 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t	*base;		/* NULL until used */
	size_t	 off;		/* first byte held */
	size_t	 len;		/* bytes held */
	size_t	 cap;		/* bytes at base */
	size_t	 max;		/* ceiling for len */
};

/* An empty queue that refuses to hold more than max bytes.  Never fails. */
void	 buf_init(struct buf *b, size_t max);

/* Free what it holds; it may be used again, empty. */
void	 buf_fini(struct buf *b);

/*
 * Room for n more bytes at the end, or NULL with errno EFBIG (ceiling) or
 * ENOMEM.  Write there, then buf_commit().
 */
void	*buf_reserve(struct buf *b, size_t n)
	    __attribute__((warn_unused_result));

/* n bytes of the reserved room are now held. */
void	 buf_commit(struct buf *b, size_t n);

/* Append len bytes.  0, or -1 with errno (EFBIG past the ceiling, ENOMEM). */
int	 buf_put(struct buf *b, const void *data, size_t len)
	    __attribute__((warn_unused_result));

/* The first byte held; valid until the next call that changes b. */
static inline uint8_t *
buf_data(const struct buf *b)
{
	return b->base == NULL ? NULL : b->base + b->off;
}

/* Drop n bytes from the front (n <= len). */
void	 buf_drain(struct buf *b, size_t n);

/* What from holds becomes to's, whatever their ceilings; from is empty then. */
void	 buf_move(struct buf *to, struct buf *from);

/* Give memory back when empty, if more than keep bytes are allocated. */
void	 buf_trim(struct buf *b, size_t keep);

#endif
