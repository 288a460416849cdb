#include "worker/proxy/helper/proxybody.h"

#include <assert.h>

#include "common/limit.h"

#define SIZE_DIGITS	15	/* of a chunk: less than 2^60 */

/*
 * Chunks:  SIZE [EXT] LF  DATA CR LF ... 0 [EXT] LF  (TRAILER LF)* CR LF
 * where each LF follows a CR.
 */
enum {
	CHUNK_SIZE, CHUNK_EXT, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_DATA_CR,
	CHUNK_DATA_LF, TRAILER_BEGIN, TRAILER_NAME, TRAILER_VALUE, TRAILER_LF,
	LAST_LF, OVER
};

void
proxybody_start(struct proxybody *b, enum proxybody_kind kind,
    uint64_t length)
{
	b->kind = kind;
	b->state = CHUNK_SIZE;
	b->left = kind == PROXYBODY_LENGTH ? length : 0;
	b->digits = 0;
	b->line = 0;
	b->is_over = kind == PROXYBODY_NONE ||
	    (kind == PROXYBODY_LENGTH && length == 0);
}

static int
chunk_digit(unsigned char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ?
	    c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool
is_plain(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c != 0x7f);
}

/* A byte of a chunk's size or what follows it.  The next state, or -1. */
static int
take_size(struct proxybody *b, unsigned char c)
{
	int	 d = chunk_digit(c);

	if (d >= 0) {
		if (++b->digits > SIZE_DIGITS)
			return -1;
		b->left = b->left << 4 | (uint64_t)d;
		return CHUNK_SIZE;
	}
	if (b->digits == 0)
		return -1;
	return c == '\r' ? CHUNK_SIZE_LF : c == ';' ? CHUNK_EXT : -1;
}

/* A byte that is not data of a chunk.  The next state, or -1. */
static int
take_byte(struct proxybody *b, unsigned char c)
{
	switch (b->state) {
	case CHUNK_SIZE:
		return take_size(b, c);
	case CHUNK_EXT:
		return c == '\r' ? CHUNK_SIZE_LF : is_plain(c) ? CHUNK_EXT :
		    -1;
	case CHUNK_SIZE_LF:
		return c != '\n' ? -1 : b->left > 0 ? CHUNK_DATA :
		    TRAILER_BEGIN;
	case CHUNK_DATA_CR:
		return c == '\r' ? CHUNK_DATA_LF : -1;
	case CHUNK_DATA_LF:
		b->digits = 0;
		return c == '\n' ? CHUNK_SIZE : -1;
	case TRAILER_BEGIN:
		if (c == '\r')
			return LAST_LF;
		/* FALLTHROUGH */
	case TRAILER_NAME:
		if (c == ':')
			return b->state == TRAILER_NAME ? TRAILER_VALUE : -1;
		return c > ' ' && c < 0x7f ? TRAILER_NAME : -1;
	case TRAILER_VALUE:
		return c == '\r' ? TRAILER_LF : is_plain(c) ? TRAILER_VALUE :
		    -1;
	case TRAILER_LF:
		return c == '\n' ? TRAILER_BEGIN : -1;
	case LAST_LF:
		return c == '\n' ? OVER : -1;
	default:
		return -1;
	}
}

static ssize_t
take_chunked(struct proxybody *b, const char *data, size_t len)
{
	size_t	 at = 0, n;

	while (at < len && !b->is_over) {
		if (b->state == CHUNK_DATA) {
			n = len - at < b->left ? len - at : (size_t)b->left;
			at += n;
			b->left -= n;
			b->line = 0;
			if (b->left == 0)
				b->state = CHUNK_DATA_CR;
			continue;
		}
		b->state = take_byte(b, (unsigned char)data[at++]);
		/* Lines without data: endless extensions or trailers. */
		if (b->state == -1 || ++b->line > LIMIT_NET_HEAD) {
			b->state = -1;
			return -1;
		}
		b->is_over = b->state == OVER;
	}
	return (ssize_t)at;
}

ssize_t
proxybody_take(struct proxybody *b, const char *data, size_t len)
{
	if (b->is_over)
		return 0;
	switch (b->kind) {
	case PROXYBODY_CHUNKED:
		return take_chunked(b, data, len);
	case PROXYBODY_LENGTH:
		if (len > b->left)
			len = (size_t)b->left;
		b->left -= len;
		b->is_over = b->left == 0;
		return (ssize_t)len;
	default:
		assert(b->kind == PROXYBODY_TO_END);
		return (ssize_t)len;
	}
}
