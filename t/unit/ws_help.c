#include "t/unit/ws_help.h"

#include <stdlib.h>
#include <string.h>

void
bytes_put(struct bytes *b, const void *data, size_t len)
{
	if (b->len + len > b->cap) {
		b->cap = (b->len + len) * 2;
		b->p = realloc(b->p, b->cap);
		MUST(b->p != NULL);
	}
	if (len > 0)
		memcpy(b->p + b->len, data, len);
	b->len += len;
}

void
bytes_put_byte(struct bytes *b, unsigned byte)
{
	uint8_t	 c = (uint8_t)byte;

	bytes_put(b, &c, 1);
}

unsigned
ws_hex(const char *p)
{
	char	 two[3] = { p[0], p[1], '\0' };

	return (unsigned)strtoul(two, NULL, 16);
}

struct bytes
ws_payload(const char *p, const char *end)
{
	struct bytes	 b = { NULL, 0, 0 }, start;
	size_t		 i, n;

	bytes_put(&b, "", 1);
	b.len = 0;
	if (*p == '*') {
		n = strtoul(p + 1, NULL, 10);
		for (i = 0; i < n; i++)
			bytes_put_byte(&b, (unsigned)('a' + i % 23));
		p += strcspn(p, ": ");
		if (*p != ':')
			return b;
		start = ws_payload(p, end);
		memcpy(b.p, start.p, start.len);
		free(start.p);
		return b;
	}
	for (p++; p < end; p++) {
		if (*p == '%') {
			bytes_put_byte(&b, ws_hex(p + 1));
			p += 2;
		} else
			bytes_put_byte(&b, (unsigned char)*p);
	}
	return b;
}

void
ws_put_frame(struct bytes *out, unsigned first, const struct bytes *data,
    const uint8_t *mask)
{
	unsigned	 bit = mask != NULL ? 0x80 : 0;
	size_t		 at, i, n = data->len;
	int		 shift = -8;

	bytes_put_byte(out, first);
	if (n < 126) {
		bytes_put_byte(out, bit | (unsigned)n);
	} else {
		bytes_put_byte(out, bit | (n < 65536 ? 126 : 127));
		shift = n < 65536 ? 8 : 56;
	}
	for (; shift >= 0; shift -= 8)
		bytes_put_byte(out, (unsigned)((uint64_t)n >> shift & 255));
	if (mask != NULL)
		bytes_put(out, mask, 4);
	at = out->len;
	bytes_put(out, data->p, n);
	for (i = 0; mask != NULL && i < n; i++)
		out->p[at + i] ^= mask[i % 4];
}
