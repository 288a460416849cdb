/*
 * ML-KEM-768 (FIPS 203) by libsodium (since 1.0.22), else by mlkem_own.c.
 * Pure; constant time for secrets, which the caller wipes.  Outputs may overlap
 * inputs, but not each other.  On EINVAL outputs are unchanged.
 */
#pragma once

#include <stdint.h>

/* Bytes (FIPS 203 section 8). */
#define MLKEM_SEED_LEN		64	/* d, then z */
#define MLKEM_PUBLIC_LEN	1184
#define MLKEM_SECRET_LEN	2400
#define MLKEM_RANDOM_LEN	32	/* m */
#define MLKEM_CIPHERTEXT_LEN	1088
#define MLKEM_SHARED_LEN	32

/* Derive a key pair from a random seed.  0, or -1 with EIO (the library). */
int	 mlkem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
	    uint8_t public_out[MLKEM_PUBLIC_LEN],
	    uint8_t secret_out[MLKEM_SECRET_LEN]) MUST_CHECK;

/* Check a peer's public key (FIPS 203 section 7.2).  0, or -1 with EINVAL. */
int	 mlkem_check_public(const uint8_t public[MLKEM_PUBLIC_LEN]) MUST_CHECK;

/*
 * Make a shared secret from random m, and its ciphertext; checks the key.  0,
 * or -1 with EINVAL or EIO.
 */
int	 mlkem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
	    const uint8_t m[MLKEM_RANDOM_LEN],
	    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]) MUST_CHECK;

/*
 * Get the shared secret; of an invalid ciphertext a pseudorandom one (implicit
 * rejection).  0, or -1 with EIO or EINVAL (the hash in the secret key is
 * wrong, FIPS 203 section 7.3).
 */
int	 mlkem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
	    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]) MUST_CHECK;
