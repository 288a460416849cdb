#include "common/noise/keccak.h"

#include <assert.h>
#include <endian.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

/* Round constants (FIPS 202 section 3.2.5). */
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
keccak_rol(uint64_t v, unsigned int n)
{
	return n == 0 ? v : v << n | v >> (64 - n);
}

/* The working state of permute(), in one place to wipe. */
struct work {
	uint64_t	 b[25];
	uint64_t	 c[5];
	uint64_t	 d[5];
};

/* Chi of a plane, the only non-linear step (FIPS 202 section 3.2.4). */
#define CHI(to, y, b0, b1, b2, b3, b4)					\
	(to)[(y) + 0] = (b0) ^ (~(b1) & (b2));				\
	(to)[(y) + 1] = (b1) ^ (~(b2) & (b3));				\
	(to)[(y) + 2] = (b2) ^ (~(b3) & (b4));				\
	(to)[(y) + 3] = (b3) ^ (~(b4) & (b0));				\
	(to)[(y) + 4] = (b4) ^ (~(b0) & (b1))

/*
 * A round: theta (3.2.1: XOR each lane with d, the parity of two columns), rho
 * and pi (3.2.2, 3.2.3: lane B[y, 2x+3y] = A[x, y], rotated), chi plane by
 * plane.  Unrolled, so that rotations and indices are constants and the lanes
 * of a plane stay in registers.
 */
static inline void
one_round(uint64_t to[25], const uint64_t a[25], uint64_t c[5],
    uint64_t d[5], uint64_t constant)
{
	int	 x;

	for (x = 0; x < 5; x++)
		c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
	d[0] = c[4] ^ keccak_rol(c[1], 1);
	d[1] = c[0] ^ keccak_rol(c[2], 1);
	d[2] = c[1] ^ keccak_rol(c[3], 1);
	d[3] = c[2] ^ keccak_rol(c[4], 1);
	d[4] = c[3] ^ keccak_rol(c[0], 1);
#define B(from, n)	keccak_rol(a[from] ^ d[(from) % 5], n)
#define PLANE(y, l0, n0, l1, n1, l2, n2, l3, n3, l4, n4) do {		\
	uint64_t b0 = B(l0, n0), b1 = B(l1, n1), b2 = B(l2, n2),	\
		 b3 = B(l3, n3), b4 = B(l4, n4);			\
	CHI(to, y, b0, b1, b2, b3, b4);					\
} while (0)
	PLANE(0, 0, 0, 6, 44, 12, 43, 18, 21, 24, 14);
	PLANE(5, 3, 28, 9, 20, 10, 3, 16, 45, 22, 61);
	PLANE(10, 1, 1, 7, 6, 13, 25, 19, 8, 20, 18);
	PLANE(15, 4, 27, 5, 36, 11, 10, 17, 15, 23, 56);
	PLANE(20, 2, 62, 8, 55, 14, 39, 15, 41, 21, 2);
#undef PLANE
#undef B
	to[0] ^= constant;
}

static void
permute(uint64_t a[25])
{
	struct work	 w;
	int		 i;

	for (i = 0; i < 24; i += 2) {
		one_round(w.b, a, w.c, w.d, iota[i]);
		one_round(a, w.b, w.c, w.d, iota[i + 1]);
	}
	sodium_memzero(&w, sizeof(w));
}

/* XOR bytes into a lane, little-endian (FIPS 202 section 3.1.2). */
static inline void
mix_byte(struct keccak *k, unsigned int at, uint8_t byte)
{
	k->lanes[at / 8] ^= (uint64_t)byte << 8 * (at % 8);
}

/* Whether the next of len bytes fill a whole lane. */
static inline bool
is_lane(const struct keccak *k, size_t len)
{
	return k->at % 8 == 0 && len >= 8;
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
	size_t		 n;
	uint64_t	 v;

	assert(!k->getting);
	for (; len > 0; len -= n, p += n) {
		if (is_lane(k, len)) {
			n = sizeof(v);
			memcpy(&v, p, n);
			k->lanes[k->at / 8] ^= le64toh(v);
		} else {
			n = 1;
			mix_byte(k, k->at, *p);
		}
		k->at += (unsigned int)n;
		if (k->at == k->rate) {
			permute(k->lanes);
			k->at = 0;
		}
	}
}

void
keccak_get(struct keccak *k, void *out, size_t len)
{
	uint8_t		*p = out;
	size_t		 n;
	uint64_t	 v;

	if (!k->getting) {
		mix_byte(k, k->at, k->suffix);
		mix_byte(k, k->rate - 1, 0x80);
		k->getting = 1;
		k->at = k->rate;
	}
	for (; len > 0; len -= n, p += n) {
		if (k->at == k->rate) {
			permute(k->lanes);
			k->at = 0;
		}
		v = k->lanes[k->at / 8];
		if (is_lane(k, len)) {
			n = sizeof(v);
			v = htole64(v);
			memcpy(p, &v, n);
		} else {
			n = 1;
			*p = (uint8_t)(v >> 8 * (k->at % 8));
		}
		k->at += (unsigned int)n;
	}
}

void
keccak_fini(struct keccak *k)
{
	sodium_memzero(k, sizeof(*k));
}
