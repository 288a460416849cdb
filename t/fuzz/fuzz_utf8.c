/* The verdict is that of a decoder, wherever the text stands. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Length of the character at p, or 0. */
static size_t
naive_char(const uint8_t *p, size_t len)
{
	static const uint32_t	 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t		 v;
	size_t			 n, i;

	n = *p < 0x80 ? 1 : *p < 0xc0 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 :
	    *p < 0xf8 ? 4 : 0;
	if (n < 2 || n > len)
		return n > len ? 0 : n;
	for (v = *p & (0x7fu >> n), i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		v = v << 6 | (p[i] & 0x3fu);
	}
	return v < least[n] || v > 0x10ffff || v >> 11 == 0x1b ? 0 : n;
}

/* How many bytes are valid from the beginning. */
static size_t
naive_valid(const uint8_t *p, size_t len)
{
	size_t	 at = 0, n;

	while (at < len && (n = naive_char(p + at, len - at)) > 0)
		at += n;
	return at;
}

static bool
verdict(const uint8_t *data, size_t size, size_t before)
{
	uint8_t	*p = malloc(before + size + 1);
	bool	 valid;

	CHECK(p != NULL);
	/* The last byte of the allocation is the last of the text. */
	memset(p + 1, 'a', before);
	if (size > 0)
		memcpy(p + 1 + before, data, size);
	valid = utf8_is_valid(p + 1, before + size);
	free(p);
	return valid;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t	 good = naive_valid(data, size);

	CHECK(verdict(data, size, 0) == (good == size));
	CHECK(verdict(data, size, size > 0 ? data[size - 1] : 63) ==
	    (good == size));
	/* what is good remains good, with the next byte it is not */
	CHECK(verdict(data, good, 1));
	if (good + 4 <= size)
		CHECK(!verdict(data, good + 4, 0));
	return 0;
}
