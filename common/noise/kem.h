/*
 * ML-KEM-768 of the Noise channel: what common/noise/mlkem.h has, or libcrypto
 * (since 3.5) where libsodium has none.  Here and not there, because nothing
 * but the uplink is linked with libcrypto.
 *
 * The functions mean what those of common/noise/mlkem.h do, and the words there
 * are about them, too.  libcrypto has the keys on its heap meanwhile, and wipes
 * them; of secret keys it also refuses those that are no key for other reasons
 * than their hash.
 */
#ifndef COMMON_NOISE_KEM_H
#define COMMON_NOISE_KEM_H

#include "common/noise/mlkem.h"

/*
 * Once, before the others: libcrypto does not try out each secret key, which
 * are all of our own making, and would take longer than to use it.
 */
void	 kem_start(void);

int	 kem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
	    uint8_t public_out[MLKEM_PUBLIC_LEN],
	    uint8_t secret_out[MLKEM_SECRET_LEN])
	    __attribute__((warn_unused_result));
int	 kem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
	    const uint8_t m[MLKEM_RANDOM_LEN],
	    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN])
	    __attribute__((warn_unused_result));
int	 kem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
	    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
	    uint8_t shared_out[MLKEM_SHARED_LEN])
	    __attribute__((warn_unused_result));

#endif
