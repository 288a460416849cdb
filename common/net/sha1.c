#include "common/net/sha1.h"

#include <string.h>

#define BLOCK	64

static inline uint32_t
sha1_rol(uint32_t v, int n)
{
	return v << n | v >> (32 - n);
}

static void
mix(uint32_t h[5], const uint8_t *p)
{
	uint32_t	 a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
	uint32_t	 w[80], f, t;
	int		 i;

	for (i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		    (uint32_t)p[2] << 8 | p[3];
	for (; i < 80; i++)
		w[i] = sha1_rol(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (i = 0; i < 80; i++) {
		if (i < 20)
			f = ((b & c) | (~b & d)) + 0x5a827999;
		else if (i < 40)
			f = (b ^ c ^ d) + 0x6ed9eba1;
		else if (i < 60)
			f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
		else
			f = (b ^ c ^ d) + 0xca62c1d6;
		t = sha1_rol(a, 5) + f + e + w[i];
		e = d;
		d = c;
		c = sha1_rol(b, 30);
		b = a;
		a = t;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

void
sha1(const void *data, size_t len, uint8_t digest[SHA1_LEN])
{
	uint32_t	 h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe,
			    0x10325476, 0xc3d2e1f0 };
	const uint8_t	*p = data;
	uint8_t		 last[2 * BLOCK] = { 0 };
	uint64_t	 bits = (uint64_t)len * 8;
	size_t		 i, n;

	for (; len >= BLOCK; p += BLOCK, len -= BLOCK)
		mix(h, p);
	if (len > 0)
		memcpy(last, p, len);
	last[len] = 0x80;
	n = len + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
	for (i = 0; i < 8; i++)
		last[n - 1 - i] = (uint8_t)(bits >> 8 * i);
	for (i = 0; i < n; i += BLOCK)
		mix(h, last + i);
	for (i = 0; i < SHA1_LEN; i++)
		digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
