#include "common/json/utf8.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BLOCK	64		/* bytes per step */

/*
 * A shift-based automaton (by Per Vognsen): a byte selects a word, the state
 * selects six bits of that word, which are the next state.  A state is its
 * bit offset; bits not set are zero, which is BAD.
 */
enum {
	BAD = 0,
	OK = 6,			/* between characters */
	ONE = 12,		/* one more continuation byte */
	TWO = 18,
	THREE = 24,
	AFTER_E0 = 30,		/* two more, not overlong */
	AFTER_ED = 36,		/* two more, not a surrogate */
	AFTER_F0 = 42,		/* three more, not overlong */
	AFTER_F4 = 48		/* three more, not above U+10FFFF */
};

#define GO(from, to)	((uint64_t)(to) << (from))
#define MORE		(GO(ONE, OK) | GO(TWO, ONE) | GO(THREE, TWO))

static const uint64_t	steps[256] = {
	[0x00 ... 0x7f] = GO(OK, OK),
	[0x80 ... 0x8f] = MORE | GO(AFTER_ED, ONE) | GO(AFTER_F4, TWO),
	[0x90 ... 0x9f] = MORE | GO(AFTER_ED, ONE) | GO(AFTER_F0, TWO),
	[0xa0 ... 0xbf] = MORE | GO(AFTER_E0, ONE) | GO(AFTER_F0, TWO),
	[0xc2 ... 0xdf] = GO(OK, ONE),
	[0xe0] = GO(OK, AFTER_E0),
	[0xe1 ... 0xec] = GO(OK, TWO),
	[0xed] = GO(OK, AFTER_ED),
	[0xee ... 0xef] = GO(OK, TWO),
	[0xf0] = GO(OK, AFTER_F0),
	[0xf1 ... 0xf3] = GO(OK, THREE),
	[0xf4] = GO(OK, AFTER_F4),
};

static inline bool
block_is_ascii(const uint8_t *p)
{
#ifdef __SSE2__
	__m128i		 a, b, c, d;

	a = _mm_loadu_si128((const void *)p);
	b = _mm_loadu_si128((const void *)(p + 16));
	c = _mm_loadu_si128((const void *)(p + 32));
	d = _mm_loadu_si128((const void *)(p + 48));
	return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b),
	    _mm_or_si128(c, d))) == 0;
#else
	uint64_t	 w[BLOCK / 8];

	memcpy(w, p, BLOCK);
	return ((w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) &
	    0x8080808080808080u) == 0;
#endif
}

bool
utf8_is_valid(const void *data, size_t len)
{
	const uint8_t	*p = data;
	uint64_t	 state = OK;
	size_t		 i = 0, stop;

	while (i < len) {
		stop = len - i < BLOCK ? len : i + BLOCK;
		if (state == OK && stop - i == BLOCK &&
		    block_is_ascii(p + i)) {
			i = stop;
			continue;
		}
		/* Mask where it is used: then it costs no instruction. */
		for (; i < stop; i++)
			state = steps[p[i]] >> (state & 63);
		if ((state &= 63) == BAD)
			return false;
	}
	return state == OK;
}

size_t
utf8_rest(const void *data, size_t len)
{
	const uint8_t	*p = data;
	uint64_t	 state = OK;
	size_t		 n = 1, i;

	while (n < 4 && n < len && (p[len - n] & 0xc0) == 0x80)
		n++;
	if (n > len || n > 3)
		return 0;
	for (i = len - n; i < len; i++)
		state = steps[p[i]] >> state & 63;
	return state == OK || state == BAD ? 0 : n;
}
