/*
 * Our own ML-KEM-768, for libsodium without it; only mlkem.c and tests include
 * this.  The functions are those of mlkem.h without checks of keys.
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

/* Bytes of a polynomial with 12, 10 or 4 bits for each coefficient. */
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

/* Hide a value from the optimizer: it may turn a known bit into a branch. */
static inline uint32_t
mlkem_opaque(uint32_t v)
{
	__asm__("" : "+r"(v));
	return v;
}

/*
 * mlkem_poly.c: polynomials modulo X^256 + 1.  Coefficients are below Q before
 * and after each function unless noted.
 */
struct mlkem_poly {
	uint16_t	 c[MLKEM_N];
};

void	 mlkem_add(struct mlkem_poly *a, const struct mlkem_poly *b);
void	 mlkem_sub(struct mlkem_poly *a, const struct mlkem_poly *b);

/* Number-theoretic transform and its inverse (algorithms 9 and 10). */
void	 mlkem_ntt(struct mlkem_poly *p);
void	 mlkem_ntt_inverse(struct mlkem_poly *p);

/* sum += a * b, all three in the NTT domain (algorithm 11). */
void	 mlkem_mul_add(struct mlkem_poly *sum, const struct mlkem_poly *a,
	    const struct mlkem_poly *b);

/* Uniform, in the NTT domain, from public rho and two bytes (algorithm 7). */
void	 mlkem_sample_ntt(struct mlkem_poly *p, const uint8_t rho[32],
	    uint8_t first, uint8_t second);

/* Small, from a secret seed and n: PRF and algorithm 8 with eta = 2. */
void	 mlkem_sample_cbd(struct mlkem_poly *p, const uint8_t seed[32],
	    uint8_t n);

/* To and from bits < 12, lossy (FIPS 203 section 4.2.1). */
uint16_t mlkem_compress(uint16_t v, unsigned int bits);
uint16_t mlkem_decompress(uint16_t v, unsigned int bits);

/*
 * To and from MLKEM_PACKED(bits) bytes, compressed if bits < 12 (algorithms 5
 * and 6).  Unpacking accepts any bytes: 12 bits are reduced modulo Q.
 */
void	 mlkem_pack(uint8_t *out, const struct mlkem_poly *p,
	    unsigned int bits);
void	 mlkem_unpack(struct mlkem_poly *p, const uint8_t *data,
	    unsigned int bits);
