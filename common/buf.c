#include "common/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * First allocation: one small message.  Up to 1,032 bytes glibc keeps freed
 * memory in a cache, which malloc_trim(3) does not return to the system.
 */
#define BUF_FIRST	1280

void
buf_init(struct buf *b, size_t max)
{
	memset(b, 0, sizeof(*b));
	b->max = max;
}

void
buf_fini(struct buf *b)
{
	size_t	 max = b->max;

	free(b->base);
	buf_init(b, max);
}

void *
buf_reserve(struct buf *b, size_t n)
{
	uint8_t	*base;
	size_t	 cap;

	assert(b->len <= b->max && b->off + b->len <= b->cap);
	if (n > b->max || b->len > b->max - n) {
		errno = EFBIG;
		return NULL;
	}
	if (b->off + b->len + n <= b->cap && b->base != NULL)
		return b->base + b->off + b->len;
	/* Move down if that frees at least half of the memory. */
	if (b->base != NULL && b->len + n <= b->cap / 2) {
		memmove(b->base, b->base + b->off, b->len);
		b->off = 0;
		return b->base + b->len;
	}
	cap = b->cap < BUF_FIRST ? BUF_FIRST : b->cap;
	while (cap < b->len + n)
		cap = cap > SIZE_MAX / 2 ? b->len + n : cap * 2;
	if (cap == b->cap)
		cap = cap > SIZE_MAX / 2 ? cap : cap * 2;
	if (b->off == 0) {
		if ((base = realloc(b->base, cap)) == NULL)
			return NULL;
	} else {
		if ((base = malloc(cap)) == NULL)
			return NULL;
		memcpy(base, b->base + b->off, b->len);
		free(b->base);
		b->off = 0;
	}
	b->base = base;
	b->cap = cap;
	return base + b->len;
}

void
buf_commit(struct buf *b, size_t n)
{
	assert(b->off + b->len + n <= b->cap);
	b->len += n;
}

int
buf_put(struct buf *b, const void *data, size_t len)
{
	void	*room;

	if (len == 0)
		return 0;
	if ((room = buf_reserve(b, len)) == NULL)
		return -1;
	memcpy(room, data, len);
	buf_commit(b, len);
	return 0;
}

void
buf_drain(struct buf *b, size_t n)
{
	assert(n <= b->len);
	b->len -= n;
	b->off = b->len == 0 ? 0 : b->off + n;
}

void
buf_move(struct buf *to, struct buf *from)
{
	size_t	 max = to->max;

	assert(to != from && from->off + from->len <= from->cap);
	free(to->base);
	*to = *from;
	to->max = max;
	buf_init(from, from->max);
}

void
buf_trim(struct buf *b, size_t keep)
{
	assert(b->off + b->len <= b->cap);
	if (b->len == 0 && b->cap > keep)
		buf_fini(b);
}
