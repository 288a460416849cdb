#include "common/noise/kem.h"

#include "config.h"

#if defined(HAVE_EVP_ML_KEM) && \
    !defined(HAVE_CRYPTO_KEM_MLKEM768_ENC_DETERMINISTIC)

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#define NAME	"ML-KEM-768"

void
kem_start(void)
{
	OSSL_PROVIDER	*p = OSSL_PROVIDER_load(NULL, "default");

	/* Never unloaded.  Errors must not stay for SSL_get_error(3). */
	if (p == NULL || OSSL_PROVIDER_add_conf_parameter(p,
	    OSSL_PKEY_PARAM_ML_KEM_IMPORT_PCT_TYPE, "none") != 1)
		ERR_clear_error();
}

/* Set errno on failure; clear libcrypto's own error queue. */
static int
result(bool good, int error)
{
	if (good)
		return 0;
	ERR_clear_error();
	errno = error;
	return -1;
}

static OSSL_PARAM
bytes(const char *name, const uint8_t *data, size_t len)
{
	/* The API lacks const; libcrypto only reads it. */
	return OSSL_PARAM_construct_octet_string(name,
	    (void *)(uintptr_t)data, len);
}

static bool
get(EVP_PKEY *key, const char *name, uint8_t *out, size_t len)
{
	size_t	 n;

	return EVP_PKEY_get_octet_string_param(key, name, out, len, &n) == 1 &&
	    n == len;
}

int
kem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
    uint8_t public_out[MLKEM_PUBLIC_LEN],
    uint8_t secret_out[MLKEM_SECRET_LEN])
{
	OSSL_PARAM	 params[] = {
		bytes(OSSL_PKEY_PARAM_ML_KEM_SEED, seed, MLKEM_SEED_LEN),
		OSSL_PARAM_construct_end()
	};
	EVP_PKEY_CTX	*c = EVP_PKEY_CTX_new_from_name(NULL, NAME, NULL);
	EVP_PKEY	*key = NULL;
	bool		 good;

	good = c != NULL && EVP_PKEY_keygen_init(c) == 1 &&
	    EVP_PKEY_CTX_set_params(c, params) == 1 &&
	    EVP_PKEY_generate(c, &key) == 1 &&
	    get(key, OSSL_PKEY_PARAM_PUB_KEY, public_out, MLKEM_PUBLIC_LEN) &&
	    get(key, OSSL_PKEY_PARAM_PRIV_KEY, secret_out, MLKEM_SECRET_LEN);
	EVP_PKEY_free(key);
	EVP_PKEY_CTX_free(c);
	return result(good, EIO);
}

int
kem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
    const uint8_t m[MLKEM_RANDOM_LEN],
    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	OSSL_PARAM	 params[] = {
		bytes(OSSL_KEM_PARAM_IKME, m, MLKEM_RANDOM_LEN),
		OSSL_PARAM_construct_end()
	};
	uint8_t		 ciphertext[MLKEM_CIPHERTEXT_LEN];
	uint8_t		 shared[MLKEM_SHARED_LEN];
	size_t		 len = sizeof(ciphertext), shared_len = sizeof(shared);
	EVP_PKEY_CTX	*c = NULL;
	EVP_PKEY	*key;
	bool		 good;

	if (mlkem_check_public(public) == -1)
		return -1;
	key = EVP_PKEY_new_raw_public_key_ex(NULL, NAME, NULL, public,
	    MLKEM_PUBLIC_LEN);
	good = key != NULL &&
	    (c = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL)) != NULL &&
	    EVP_PKEY_encapsulate_init(c, params) == 1 &&
	    EVP_PKEY_encapsulate(c, ciphertext, &len, shared,
	    &shared_len) == 1 && len == sizeof(ciphertext) &&
	    shared_len == sizeof(shared);
	if (good) {
		memcpy(ciphertext_out, ciphertext, sizeof(ciphertext));
		memcpy(shared_out, shared, sizeof(shared));
	}
	sodium_memzero(shared, sizeof(shared));
	EVP_PKEY_CTX_free(c);
	EVP_PKEY_free(key);
	return result(good, EIO);
}

int
kem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	uint8_t		 shared[MLKEM_SHARED_LEN];
	size_t		 len = sizeof(shared);
	EVP_PKEY_CTX	*c;
	EVP_PKEY	*key;
	bool		 good;

	if ((key = EVP_PKEY_new_raw_private_key_ex(NULL, NAME, NULL, secret,
	    MLKEM_SECRET_LEN)) == NULL)
		return result(false, EINVAL);
	c = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	good = c != NULL && EVP_PKEY_decapsulate_init(c, NULL) == 1 &&
	    EVP_PKEY_decapsulate(c, shared, &len, ciphertext,
	    MLKEM_CIPHERTEXT_LEN) == 1 && len == sizeof(shared);
	if (good)
		memcpy(shared_out, shared, sizeof(shared));
	sodium_memzero(shared, sizeof(shared));
	EVP_PKEY_CTX_free(c);
	EVP_PKEY_free(key);
	return result(good, EIO);
}

#else

void
kem_start(void)
{
}

int
kem_keypair(const uint8_t seed[MLKEM_SEED_LEN],
    uint8_t public_out[MLKEM_PUBLIC_LEN],
    uint8_t secret_out[MLKEM_SECRET_LEN])
{
	return mlkem_keypair(seed, public_out, secret_out);
}

int
kem_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
    const uint8_t m[MLKEM_RANDOM_LEN],
    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	return mlkem_encapsulate(public, m, ciphertext_out, shared_out);
}

int
kem_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	return mlkem_decapsulate(secret, ciphertext, shared_out);
}

#endif
