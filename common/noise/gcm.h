/* AES-256-GCM of Noise (PROTOCOL 13.1), by libcrypto; keys are copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GCM_KEY		32
#define GCM_TAG		16

struct evp_cipher_ctx_st;

/* Embedded.  Zeroed: gcm_fini() is allowed. */
struct gcm {
	struct evp_cipher_ctx_st	*ctx;
};

/* NULL and 0: none. */
struct gcm_ad {
	const uint8_t	*data;
	size_t		 len;
};

/* -1: errno ENOMEM. */
int	 gcm_init(struct gcm *g, const uint8_t key[GCM_KEY], bool seals)
	    MUST_CHECK;
void	 gcm_fini(struct gcm *g);

/*
 * len + GCM_TAG bytes; out may be data.  Never use an n twice.  0, or -1 with
 * errno EINVAL (above 16 MiB, a key for opening) or ENOMEM.
 */
int	 gcm_seal(struct gcm *g, uint64_t n, struct gcm_ad ad,
	    const uint8_t *data, size_t len, uint8_t *out) MUST_CHECK;

/*
 * len - GCM_TAG bytes; out may be data.  0, or -1 with errno EBADMSG (not
 * authentic, too short), EINVAL or ENOMEM, and no plaintext.
 */
int	 gcm_open(struct gcm *g, uint64_t n, struct gcm_ad ad,
	    const uint8_t *data, size_t len, uint8_t *out) MUST_CHECK;
