#include "common/keccak.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

/* FIPS 202 section 3.2.5: one constant for each round. */
static const uint64_t	iota[24] = {
	0x0000000000000001, 0x0000000000008082, 0x800000000000808a,
	0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
	0x8000000080008081, 0x8000000000008009, 0x000000000000008a,
	0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
	0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
	0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
	0x000000000000800a, 0x800000008000000a, 0x8000000080008081,
	0x8000000000008080, 0x0000000080000001, 0x8000000080008008
};

static inline uint64_t
rol(uint64_t v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

/* What permute() needs, in one place to wipe. */
struct work {
	uint64_t	 b[25];
	uint64_t	 c[5];
	uint64_t	 d[5];
};

/* Section 3.2.1: each lane gets the parity of two columns beside it. */
static inline void
theta(uint64_t a[25], uint64_t c[5], uint64_t d[5])
{
	int	 x, y;

	for (x = 0; x < 5; x++)
		c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
	d[0] = c[4] ^ rol(c[1], 1);
	d[1] = c[0] ^ rol(c[2], 1);
	d[2] = c[1] ^ rol(c[3], 1);
	d[3] = c[2] ^ rol(c[4], 1);
	d[4] = c[3] ^ rol(c[0], 1);
	for (y = 0; y < 25; y += 5) {
		for (x = 0; x < 5; x++)
			a[y + x] ^= d[x];
	}
}

/* Sections 3.2.2 and 3.2.3: lane B[y, 2x+3y] = A[x, y], turned. */
static inline void
rho_pi(uint64_t b[25], const uint64_t a[25])
{
#define LANE(to, from, n)	b[to] = rol(a[from], n)
	b[0] = a[0];
	LANE(10, 1, 1);		LANE(20, 2, 62);	LANE(5, 3, 28);
	LANE(15, 4, 27);	LANE(16, 5, 36);	LANE(1, 6, 44);
	LANE(11, 7, 6);		LANE(21, 8, 55);	LANE(6, 9, 20);
	LANE(7, 10, 3);		LANE(17, 11, 10);	LANE(2, 12, 43);
	LANE(12, 13, 25);	LANE(22, 14, 39);	LANE(23, 15, 41);
	LANE(8, 16, 45);	LANE(18, 17, 15);	LANE(3, 18, 21);
	LANE(13, 19, 8);	LANE(14, 20, 18);	LANE(24, 21, 2);
	LANE(9, 22, 61);	LANE(19, 23, 56);	LANE(4, 24, 14);
#undef LANE
}

/* Section 3.2.4: the only step that is not linear. */
static inline void
chi(uint64_t a[25], const uint64_t b[25])
{
	int	 y;

	for (y = 0; y < 25; y += 5, a += 5, b += 5) {
		a[0] = b[0] ^ (~b[1] & b[2]);
		a[1] = b[1] ^ (~b[2] & b[3]);
		a[2] = b[2] ^ (~b[3] & b[4]);
		a[3] = b[3] ^ (~b[4] & b[0]);
		a[4] = b[4] ^ (~b[0] & b[1]);
	}
}

static void
permute(uint64_t a[25])
{
	struct work	 w;
	int		 i;

	for (i = 0; i < 24; i++) {
		theta(a, w.c, w.d);
		rho_pi(w.b, a);
		chi(a, w.b);
		a[0] ^= iota[i];
	}
	sodium_memzero(&w, sizeof(w));
}

/* Bytes fill a lane from its low end (section 3.1.2), on any host. */
static inline void
mix_byte(struct keccak *k, unsigned int at, uint8_t byte)
{
	k->lanes[at / 8] ^= (uint64_t)byte << 8 * (at % 8);
}

void
keccak_init(struct keccak *k, unsigned int rate, uint8_t suffix)
{
	memset(k, 0, sizeof(*k));
	k->rate = rate;
	k->suffix = suffix;
}

void
keccak_put(struct keccak *k, const void *data, size_t len)
{
	const uint8_t	*p = data;

	assert(!k->getting);
	for (; len > 0; len--, p++) {
		mix_byte(k, k->at, *p);
		if (++k->at == k->rate) {
			permute(k->lanes);
			k->at = 0;
		}
	}
}

void
keccak_get(struct keccak *k, void *out, size_t len)
{
	uint8_t	*p = out;

	if (!k->getting) {
		mix_byte(k, k->at, k->suffix);
		mix_byte(k, k->rate - 1, 0x80);
		k->getting = 1;
		k->at = k->rate;
	}
	for (; len > 0; len--, p++) {
		if (k->at == k->rate) {
			permute(k->lanes);
			k->at = 0;
		}
		*p = (uint8_t)(k->lanes[k->at / 8] >> 8 * (k->at % 8));
		k->at++;
	}
}

void
keccak_fini(struct keccak *k)
{
	sodium_memzero(k, sizeof(*k));
}
