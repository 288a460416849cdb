/*
 * AES-256-GCM as the Noise framework uses it (PROTOCOL 13.1): the nonce is a
 * 64-bit counter, big-endian, behind four zero bytes, the tag of 16 bytes
 * comes last.  One direction of one key.
 *
 * By libcrypto, which works on any processor and takes the time of AES-NI
 * where there is one.  Its context holds the key in memory of libcrypto
 * (wiped at the end): whoever wants that locked locks the process.
 */
#ifndef COMMON_NOISE_GCM_H
#define COMMON_NOISE_GCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bytes */
#define GCM_KEY		32
#define GCM_TAG		16

struct evp_cipher_ctx_st;

/* Embedded.  All zero: none, gcm_fini() does nothing. */
struct gcm {
	struct evp_cipher_ctx_st	*ctx;
};

/* What is authenticated but not in the message; NULL and 0 for nothing. */
struct gcm_ad {
	const uint8_t	*data;
	size_t		 len;
};

/* A key that seals, or one that opens.  0, or -1 with errno ENOMEM. */
int	 gcm_init(struct gcm *g, const uint8_t key[GCM_KEY], bool seals)
	    __attribute__((warn_unused_result));
void	 gcm_fini(struct gcm *g);

/*
 * Seal len bytes under the counter n, which the caller never uses twice, into
 * len + GCM_TAG bytes at out; out may be data itself.  0, or -1 with errno
 * EINVAL (len above 16 MiB, a key that opens) or ENOMEM.
 */
int	 gcm_seal(struct gcm *g, uint64_t n, struct gcm_ad ad,
	    const uint8_t *data, size_t len, uint8_t *out)
	    __attribute__((warn_unused_result));

/*
 * Open len bytes, tag included, into len - GCM_TAG bytes at out; out may be
 * data itself.  0, or -1 with errno EBADMSG (not what was sealed, or shorter
 * than a tag; nothing of it is then at out), EINVAL or ENOMEM.
 */
int	 gcm_open(struct gcm *g, uint64_t n, struct gcm_ad ad,
	    const uint8_t *data, size_t len, uint8_t *out)
	    __attribute__((warn_unused_result));

#endif
