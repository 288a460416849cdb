/*
 * As mlkem.h, or by libcrypto (since 3.5) where libsodium lacks it; that has
 * keys on its heap during a call, and checks more of a secret key than its
 * hash.
 */
#pragma once

#include "common/noise/mlkem.h"

/* Call first: no check of each imported secret key, as all are our own. */
void	 kem_start(void);

int	 kem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
	    uint8_t public_out[MLKEM_PUBLIC_LEN],
	    uint8_t secret_out[MLKEM_SECRET_LEN]) MUST_CHECK;
int	 kem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
	    const uint8_t m[MLKEM_RANDOM_LEN],
	    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]) MUST_CHECK;
int	 kem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
	    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN]) MUST_CHECK;
