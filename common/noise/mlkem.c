#include "common/noise/mlkem.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "common/noise/keccak.h"
#include "common/noise/mlkem_priv.h"
#include "config.h"

#ifdef HAVE_CRYPTO_KEM_MLKEM768_ENC_DETERMINISTIC

/*
 * Both use the key layout of FIPS 203.  Work on copies: libsodium does not
 * document overlapping arguments.
 */
_Static_assert(crypto_kem_mlkem768_SEEDBYTES == MLKEM_SEED_LEN &&
    crypto_kem_mlkem768_PUBLICKEYBYTES == MLKEM_PUBLIC_LEN &&
    crypto_kem_mlkem768_SECRETKEYBYTES == MLKEM_SECRET_LEN &&
    crypto_kem_mlkem768_CIPHERTEXTBYTES == MLKEM_CIPHERTEXT_LEN &&
    crypto_kem_mlkem768_SHAREDSECRETBYTES == MLKEM_SHARED_LEN,
    "FIPS 203 table 3");

static int
keypair(const uint8_t *seed, uint8_t *public_out, uint8_t *secret_out)
{
	uint8_t	 s[MLKEM_SEED_LEN];
	int	 r;

	memcpy(s, seed, sizeof(s));
	r = crypto_kem_mlkem768_seed_keypair(public_out, secret_out, s);
	sodium_memzero(s, sizeof(s));
	return r;
}

static int
encapsulate(const uint8_t *public, const uint8_t *m, uint8_t *ciphertext_out,
    uint8_t *shared_out)
{
	uint8_t	 ciphertext[MLKEM_CIPHERTEXT_LEN], shared[MLKEM_SHARED_LEN];
	int	 r;

	r = crypto_kem_mlkem768_enc_deterministic(ciphertext, shared, public,
	    m);
	if (r == 0) {
		memcpy(ciphertext_out, ciphertext, sizeof(ciphertext));
		memcpy(shared_out, shared, sizeof(shared));
	}
	sodium_memzero(shared, sizeof(shared));
	return r;
}

static int
decapsulate(const uint8_t *secret, const uint8_t *ciphertext,
    uint8_t *shared_out)
{
	uint8_t	 shared[MLKEM_SHARED_LEN];
	int	 r;

	r = crypto_kem_mlkem768_dec(shared, ciphertext, secret);
	if (r == 0)
		memcpy(shared_out, shared, sizeof(shared));
	sodium_memzero(shared, sizeof(shared));
	return r;
}

#else

static int
keypair(const uint8_t *seed, uint8_t *public_out, uint8_t *secret_out)
{
	mlkem_own_keypair(seed, public_out, secret_out);
	return 0;
}

static int
encapsulate(const uint8_t *public, const uint8_t *m, uint8_t *ciphertext_out,
    uint8_t *shared_out)
{
	mlkem_own_encapsulate(public, m, ciphertext_out, shared_out);
	return 0;
}

static int
decapsulate(const uint8_t *secret, const uint8_t *ciphertext,
    uint8_t *shared_out)
{
	mlkem_own_decapsulate(secret, ciphertext, shared_out);
	return 0;
}

#endif

/* Translate libsodium's result; it sets no errno. */
static int
library(int result)
{
	if (result == 0)
		return 0;
	errno = EIO;
	return -1;
}

int
mlkem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
    uint8_t public_out[MLKEM_PUBLIC_LEN],
    uint8_t secret_out[MLKEM_SECRET_LEN])
{
	return library(keypair(seed, public_out, secret_out));
}

int
mlkem_check_public(const uint8_t public[MLKEM_PUBLIC_LEN])
{
	const uint8_t	*p;

	for (p = public; p < public + MLKEM_PUBLIC_LEN - 32; p += 3) {
		if ((p[0] | (p[1] & 15) << 8) >= MLKEM_Q ||
		    (p[1] >> 4 | p[2] << 4) >= MLKEM_Q) {
			errno = EINVAL;
			return -1;
		}
	}
	return 0;
}

int
mlkem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
    const uint8_t m[MLKEM_RANDOM_LEN],
    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	if (mlkem_check_public(public) == -1)
		return -1;
	return library(encapsulate(public, m, ciphertext_out, shared_out));
}

int
mlkem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	struct keccak	 k;
	uint8_t		 h[SHA3_256_LEN];

	keccak_init(&k, KECCAK_SHA3_256);
	keccak_put(&k, secret + MLKEM_SECRET_PUBLIC, MLKEM_PUBLIC_LEN);
	keccak_get(&k, h, sizeof(h));
	if (memcmp(h, secret + MLKEM_SECRET_HASH, sizeof(h)) != 0) {
		errno = EINVAL;
		return -1;
	}
	return library(decapsulate(secret, ciphertext, shared_out));
}
