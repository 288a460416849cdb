#include <sodium.h>
#include <string.h>

#include "common/noise/keccak.h"
#include "common/noise/mlkem_priv.h"

#define Q	MLKEM_Q
#define N	MLKEM_N

/* 17^BitRev7(i) mod Q; 17 is a 256th root of unity (appendix A). */
static const uint16_t	zetas[128] = {
	   1, 1729, 2580, 3289, 2642,  630, 1897,  848,
	1062, 1919,  193,  797, 2786, 3260,  569, 1746,
	 296, 2447, 1339, 1476, 3046,   56, 2240, 1333,
	1426, 2094,  535, 2882, 2393, 2879, 1974,  821,
	 289,  331, 3253, 1756, 1197, 2304, 2277, 2055,
	 650, 1977, 2513,  632, 2865,   33, 1320, 1915,
	2319, 1435,  807,  452, 1438, 2868, 1534, 2402,
	2647, 2617, 1481,  648, 2474, 3110, 1227,  910,
	  17, 2761,  583, 2649, 1637,  723, 2288, 1100,
	1409, 2662, 3281,  233,  756, 2156, 3015, 3050,
	1703, 1651, 2789, 1789, 1847,  952, 1461, 2687,
	 939, 2308, 2437, 2388,  733, 2337,  268,  641,
	1584, 2298, 2037, 3220,  375, 2549, 2090, 1645,
	1063,  319, 2773,  757, 2099,  561, 2466, 2594,
	2804, 1092,  403, 1026, 1143, 2150, 2775,  886,
	1722, 1212, 1874, 1029, 2110, 2935,  885, 2154
};

/*
 * v / Q without a division, whose time may depend on v.  20642679 * Q is 2^36 +
 * 1655, thus exact for v < 2^36 / 1655, which is above 3 * Q^2.
 */
static inline uint32_t
quotient(uint32_t v)
{
	return (uint32_t)((uint64_t)v * 20642679 >> 36);
}

static inline uint16_t
mlkem_poly_reduce(uint32_t v)
{
	return (uint16_t)(v - quotient(v) * Q);
}

/* v mod Q, for v < 2 * Q. */
static inline uint16_t
reduce_once(uint32_t v)
{
	v -= Q;
	return (uint16_t)(v + mlkem_opaque(v >> 31) * Q);
}

void
mlkem_add(struct mlkem_poly *a, const struct mlkem_poly *b)
{
	int	 i;

	for (i = 0; i < N; i++)
		a->c[i] = reduce_once((uint32_t)a->c[i] + b->c[i]);
}

void
mlkem_sub(struct mlkem_poly *a, const struct mlkem_poly *b)
{
	int	 i;

	for (i = 0; i < N; i++)
		a->c[i] = reduce_once((uint32_t)a->c[i] + Q - b->c[i]);
}

void
mlkem_ntt(struct mlkem_poly *p)
{
	const uint16_t	*zeta = zetas;
	uint16_t	*a, *b, t;
	int		 len, start, j;

	for (len = N / 2; len >= 2; len /= 2) {
		for (start = 0; start < N; start += 2 * len) {
			zeta++;
			a = p->c + start;
			b = a + len;
			for (j = 0; j < len; j++) {
				t = mlkem_poly_reduce((uint32_t)*zeta * b[j]);
				b[j] = reduce_once((uint32_t)a[j] + Q - t);
				a[j] = reduce_once((uint32_t)a[j] + t);
			}
		}
	}
}

void
mlkem_ntt_inverse(struct mlkem_poly *p)
{
	const uint16_t	*zeta = zetas + 128;
	uint16_t	*a, *b, t;
	int		 len, start, j;

	for (len = 2; len <= N / 2; len *= 2) {
		for (start = 0; start < N; start += 2 * len) {
			zeta--;
			a = p->c + start;
			b = a + len;
			for (j = 0; j < len; j++) {
				t = a[j];
				a[j] = reduce_once((uint32_t)t + b[j]);
				b[j] = mlkem_poly_reduce(*zeta *
				    ((uint32_t)b[j] + Q - t));
			}
		}
	}
	/* 128^-1 mod Q */
	for (j = 0; j < N; j++)
		p->c[j] = mlkem_poly_reduce((uint32_t)p->c[j] * 3303);
}

void
mlkem_mul_add(struct mlkem_poly *sum, const struct mlkem_poly *a,
    const struct mlkem_poly *b)
{
	uint32_t	 a0, a1, b0, b1, gamma;
	int		 i;

	/* Modulo X^2 - gamma; the gammas are zetas with alternating signs. */
	for (i = 0; i < N; i += 2) {
		a0 = a->c[i];
		a1 = a->c[i + 1];
		b0 = b->c[i];
		b1 = b->c[i + 1];
		gamma = zetas[64 + i / 4];
		if (i % 4 != 0)
			gamma = Q - gamma;
		sum->c[i] = mlkem_poly_reduce(sum->c[i] + a0 * b0 +
		    mlkem_poly_reduce(a1 * b1) * gamma);
		sum->c[i + 1] = mlkem_poly_reduce(sum->c[i + 1] + a0 * b1 +
		    a1 * b0);
	}
}

void
mlkem_sample_ntt(struct mlkem_poly *p, const uint8_t rho[32], uint8_t first,
    uint8_t second)
{
	struct keccak	 k;
	uint8_t		 buf[168], *b;		/* a block, read by threes */
	uint16_t	 v;
	int		 n = 0;

	keccak_init(&k, KECCAK_SHAKE128);
	keccak_put(&k, rho, 32);
	keccak_put(&k, &first, 1);
	keccak_put(&k, &second, 1);
	while (n < N) {
		keccak_get(&k, buf, sizeof(buf));
		for (b = buf; b < buf + sizeof(buf) && n < N; b += 3) {
			v = (uint16_t)(b[0] | (b[1] & 15) << 8);
			if (v < Q)
				p->c[n++] = v;
			v = (uint16_t)(b[1] >> 4 | b[2] << 4);
			if (v < Q && n < N)
				p->c[n++] = v;
		}
	}
}

void
mlkem_sample_cbd(struct mlkem_poly *p, const uint8_t seed[32], uint8_t n)
{
	struct keccak	 k;
	uint8_t		 buf[N / 2];
	uint32_t	 v;
	int		 i;

	keccak_init(&k, KECCAK_SHAKE256);
	keccak_put(&k, seed, 32);
	keccak_put(&k, &n, 1);
	keccak_get(&k, buf, sizeof(buf));
	keccak_fini(&k);
	/* The sum of two bits less that of two others, for each nibble. */
	for (i = 0; i < N; i++) {
		v = buf[i / 2] >> 4 * (i % 2);
		p->c[i] = reduce_once(Q + (v & 1) + (v >> 1 & 1) -
		    (v >> 2 & 1) - (v >> 3 & 1));
	}
	sodium_memzero(buf, sizeof(buf));
}

uint16_t
mlkem_compress(uint16_t v, unsigned int bits)
{
	return (uint16_t)(quotient(((uint32_t)v << bits) + Q / 2) &
	    ((1u << bits) - 1));
}

uint16_t
mlkem_decompress(uint16_t v, unsigned int bits)
{
	return (uint16_t)((mlkem_opaque(v) * Q + (1u << (bits - 1))) >> bits);
}

void
mlkem_pack(uint8_t *out, const struct mlkem_poly *p, unsigned int bits)
{
	uint32_t	 acc = 0, v;
	unsigned int	 have = 0;
	int		 i;

	for (i = 0; i < N; i++) {
		v = p->c[i];
		if (bits < 12)
			v = mlkem_compress((uint16_t)v, bits);
		acc |= v << have;
		for (have += bits; have >= 8; have -= 8, acc >>= 8)
			*out++ = (uint8_t)acc;
	}
}

void
mlkem_unpack(struct mlkem_poly *p, const uint8_t *data, unsigned int bits)
{
	uint32_t	 acc = 0, v;
	unsigned int	 have = 0;
	int		 i;

	for (i = 0; i < N; i++) {
		for (; have < bits; have += 8)
			acc |= (uint32_t)*data++ << have;
		v = acc & ((1u << bits) - 1);
		acc >>= bits;
		have -= bits;
		p->c[i] = bits < 12 ? mlkem_decompress((uint16_t)v, bits) :
		    reduce_once(v);
	}
}
