/*
 * ML-KEM-768 (FIPS 203) by libsodium (since 1.0.22), else by mlkem_own.c. Pure;
 * constant time.  The caller wipes secrets.  Outputs may overlap inputs, not
 * each other; EINVAL leaves them unchanged.
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

/* From a random seed.  -1: EIO (the library). */
int	 mlkem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
	    uint8_t public_out[MLKEM_PUBLIC_LEN],
	    uint8_t secret_out[MLKEM_SECRET_LEN]) MUST_CHECK;

/* A peer's (FIPS 203 section 7.2).  -1: EINVAL. */
int	 mlkem_check_public(const uint8_t public[MLKEM_PUBLIC_LEN]) MUST_CHECK;

/* From random m; checks the key.  -1: EINVAL or EIO. */
int	 mlkem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
	    const uint8_t m[MLKEM_RANDOM_LEN],
	    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]) MUST_CHECK;

/* Of an invalid ciphertext pseudorandom.  -1: EIO, EINVAL (bad secret key). */
int	 mlkem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
	    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]) MUST_CHECK;
