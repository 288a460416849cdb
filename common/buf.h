/* A byte queue with a ceiling, in memory from buf_reserve() to buf_trim(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t	*base;
	size_t	 off;
	size_t	 len;
	size_t	 cap;		/* bytes at base */
	size_t	 max;		/* ceiling for len */
};

void	 buf_init(struct buf *b, size_t max);
void	 buf_fini(struct buf *b);	/* empty again, same ceiling */

/* Return room for n more bytes; NULL with errno EFBIG (ceiling) or ENOMEM. */
void	*buf_reserve(struct buf *b, size_t n) MUST_CHECK;
void	 buf_commit(struct buf *b, size_t n);

/* As buf_reserve(). */
int	 buf_put(struct buf *b, const void *data, size_t len) MUST_CHECK;

/* Return the first byte; valid until the next call that changes b. */
static inline uint8_t *
buf_data(const struct buf *b)
{
	return b->base == NULL ? NULL : b->base + b->off;
}

/* From the front; n <= len. */
void	 buf_drain(struct buf *b, size_t n);

/* Move all bytes and their memory; to keeps its ceiling. */
void	 buf_move(struct buf *to, struct buf *from);

/* Free the memory of an empty queue if it is more than keep bytes. */
void	 buf_trim(struct buf *b, size_t keep);
