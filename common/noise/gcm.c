#include "common/noise/gcm.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>

#define NONCE		12	/* four zero bytes, a big-endian counter */
#define LEN_MAX		((size_t)16 << 20)	/* EVP lengths are int */

int
gcm_init(struct gcm *g, const uint8_t key[GCM_KEY], bool seals)
{
	if ((g->ctx = EVP_CIPHER_CTX_new()) != NULL &&
	    EVP_CipherInit_ex(g->ctx, EVP_aes_256_gcm(), NULL, key, NULL,
	    seals) == 1)
		return 0;
	gcm_fini(g);
	errno = ENOMEM;
	return -1;
}

void
gcm_fini(struct gcm *g)
{
	EVP_CIPHER_CTX_free(g->ctx);
	g->ctx = NULL;
}

/* Process all but the tag.  -1 with errno. */
static int
gcm_run(struct gcm *g, uint64_t n, struct gcm_ad ad, const uint8_t *data,
    size_t len, uint8_t *out)
{
	uint8_t	 nonce[NONCE] = { 0 };
	int	 i, got;

	if (len > LEN_MAX || ad.len > LEN_MAX) {
		errno = EINVAL;
		return -1;
	}
	for (i = NONCE - 1; n > 0; i--, n >>= 8)
		nonce[i] = (uint8_t)n;
	if (EVP_CipherInit_ex(g->ctx, NULL, NULL, NULL, nonce, -1) != 1 ||
	    (ad.len > 0 && EVP_CipherUpdate(g->ctx, NULL, &got, ad.data,
	    (int)ad.len) != 1) ||
	    (len > 0 && EVP_CipherUpdate(g->ctx, out, &got, data,
	    (int)len) != 1)) {
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

int
gcm_seal(struct gcm *g, uint64_t n, struct gcm_ad ad, const uint8_t *data,
    size_t len, uint8_t *out)
{
	int	 got;

	assert(g->ctx != NULL);
	if (!EVP_CIPHER_CTX_is_encrypting(g->ctx)) {
		errno = EINVAL;
		return -1;
	}
	if (gcm_run(g, n, ad, data, len, out) == -1)
		return -1;
	if (EVP_CipherFinal_ex(g->ctx, out + len, &got) == 1 &&
	    EVP_CIPHER_CTX_ctrl(g->ctx, EVP_CTRL_AEAD_GET_TAG, GCM_TAG,
	    out + len) == 1)
		return 0;
	errno = ENOMEM;
	return -1;
}

int
gcm_open(struct gcm *g, uint64_t n, struct gcm_ad ad, const uint8_t *data,
    size_t len, uint8_t *out)
{
	uint8_t	 tag[GCM_TAG], none[GCM_TAG];
	int	 got;

	assert(g->ctx != NULL);
	if (EVP_CIPHER_CTX_is_encrypting(g->ctx)) {
		errno = EINVAL;
		return -1;
	}
	if (len < GCM_TAG) {
		errno = EBADMSG;
		return -1;
	}
	len -= GCM_TAG;
	memcpy(tag, data + len, GCM_TAG);
	if (gcm_run(g, n, ad, data, len, out) == 0) {
		/* libcrypto compares the tag in constant time. */
		if (EVP_CIPHER_CTX_ctrl(g->ctx, EVP_CTRL_AEAD_SET_TAG,
		    GCM_TAG, tag) == 1 &&
		    EVP_CipherFinal_ex(g->ctx, none, &got) == 1)
			return 0;
		errno = EBADMSG;
	}
	if (len > 0 && len <= LEN_MAX)
		sodium_memzero(out, len);
	return -1;
}
