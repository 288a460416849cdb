/*
 * ML-KEM-768 (FIPS 203), the key encapsulation of the Noise channel
 * (PROTOCOL 13).  By libsodium where it has it (since 1.0.22),
 * else by mlkem_own.c.  Randomness is the caller's.  Pure, constant time in all
 * that is secret.
 *
 * Seeds, m, secret keys and shared secrets are the caller's to wipe
 * (sodium_memzero).  An output may lie anywhere over an input, all of which is
 * read first, but outputs not over each other.  After EINVAL the outputs are as
 * they were.
 */
#ifndef COMMON_NOISE_MLKEM_H
#define COMMON_NOISE_MLKEM_H

#include <stdint.h>

/* Bytes (FIPS 203 section 8). */
#define MLKEM_SEED_LEN		64	/* d, then z */
#define MLKEM_PUBLIC_LEN	1184
#define MLKEM_SECRET_LEN	2400
#define MLKEM_RANDOM_LEN	32	/* m */
#define MLKEM_CIPHERTEXT_LEN	1088
#define MLKEM_SHARED_LEN	32

/*
 * The pair that belongs to a seed of 64 random bytes; the same seed gives the
 * same pair.  0, or -1 with EIO: the library failed.
 */
int	 mlkem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
	    uint8_t public_out[MLKEM_PUBLIC_LEN],
	    uint8_t secret_out[MLKEM_SECRET_LEN])
	    __attribute__((warn_unused_result));

/*
 * Check a public key of somebody else (FIPS 203 section 7.2): its coefficients
 * must be reduced.  0, or -1 with EINVAL.
 */
int	 mlkem_check_public(const uint8_t public[MLKEM_PUBLIC_LEN])
	    __attribute__((warn_unused_result));

/*
 * A shared secret of 32 random bytes, and the ciphertext that tells it to the
 * owner of the key.  Checks the key.  0, or -1 with EINVAL or EIO.
 */
int	 mlkem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
	    const uint8_t m[MLKEM_RANDOM_LEN],
	    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN])
	    __attribute__((warn_unused_result));

/*
 * The shared secret that a ciphertext tells.  A ciphertext that nobody made for
 * this key gives a secret that nobody else knows: no failure, and no way to
 * tell.  0, or -1 with EINVAL (the hash within the secret key does not fit,
 * FIPS 203 section 7.3: it was damaged) or EIO.
 */
int	 mlkem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
	    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN])
	    __attribute__((warn_unused_result));

#endif
