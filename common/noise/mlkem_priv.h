/*
 * Our own ML-KEM-768, without checks of keys: for mlkem.c and tests only.
 *
 * Constant time: no branch, address or division depends on a secret
 * (mlkem_sample_ntt() has public input).  No secret stays on the stack.  Pure.
 */
#pragma once

#include <stdint.h>

#include "common/noise/mlkem.h"

#define MLKEM_Q		3329
#define MLKEM_N		256
#define MLKEM_K		3

/* With 12, 10 or 4 bits for each coefficient. */
#define MLKEM_PACKED(bits)	(MLKEM_N * (bits) / 8)

/* Offsets in a secret key (FIPS 203, algorithm 16). */
#define MLKEM_SECRET_PUBLIC	(MLKEM_K * MLKEM_PACKED(12))
#define MLKEM_SECRET_HASH	(MLKEM_SECRET_PUBLIC + MLKEM_PUBLIC_LEN)
#define MLKEM_SECRET_Z		(MLKEM_SECRET_HASH + 32)

/* mlkem_own.c */
void	 mlkem_own_keypair(const uint8_t seed[MLKEM_SEED_LEN],
	    uint8_t public_out[MLKEM_PUBLIC_LEN],
	    uint8_t secret_out[MLKEM_SECRET_LEN]);
void	 mlkem_own_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
	    const uint8_t m[MLKEM_RANDOM_LEN],
	    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]);
void	 mlkem_own_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
	    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]);

/* From the optimizer, which may turn a known bit into a branch. */
static inline uint32_t
mlkem_opaque(uint32_t v)
{
	__asm__("" : "+r"(v));
	return v;
}

/* Modulo X^256 + 1.  Coefficients are below Q, unless noted. */
struct mlkem_poly {
	uint16_t	 c[MLKEM_N];
};

void	 mlkem_add(struct mlkem_poly *a, const struct mlkem_poly *b);
void	 mlkem_sub(struct mlkem_poly *a, const struct mlkem_poly *b);

/* Algorithms 9 and 10. */
void	 mlkem_ntt(struct mlkem_poly *p);
void	 mlkem_ntt_inverse(struct mlkem_poly *p);

/* sum += a * b, in the NTT domain (algorithm 11). */
void	 mlkem_mul_add(struct mlkem_poly *sum, const struct mlkem_poly *a,
	    const struct mlkem_poly *b);

/* Uniform, in the NTT domain, from public rho (algorithm 7). */
void	 mlkem_sample_ntt(struct mlkem_poly *p, const uint8_t rho[32],
	    uint8_t first, uint8_t second);

/* Small, from a secret seed: PRF and algorithm 8 with eta = 2. */
void	 mlkem_sample_cbd(struct mlkem_poly *p, const uint8_t seed[32],
	    uint8_t n);

/* bits < 12; lossy (FIPS 203 section 4.2.1). */
uint16_t mlkem_compress(uint16_t v, unsigned int bits);
uint16_t mlkem_decompress(uint16_t v, unsigned int bits);

/*
 * MLKEM_PACKED(bits) bytes, compressed if bits < 12 (algorithms 5 and 6); any
 * bytes can be unpacked: 12 bits are reduced modulo Q.
 */
void	 mlkem_pack(uint8_t *out, const struct mlkem_poly *p,
	    unsigned int bits);
void	 mlkem_unpack(struct mlkem_poly *p, const uint8_t *data,
	    unsigned int bits);
