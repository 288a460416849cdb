/*
 * Public keys of those who sign tokens: a JSON Web Key Set (RFC 7517), of which
 * keys for RS256 (2048 to 8192 bits) and ES256 (P-256) are taken.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/span.h"

#define JWKS_MAX	(64 * 1024)	/* bytes of a set */
#define JWKS_KEYS_MAX	16		/* that are taken */

struct jwks;

/*
 * Keys of other kinds and for other purposes are left out.  NULL with the
 * reason in why: malformed, no key, too many, a private one.
 */
struct jwks	*jwks_new(const char *text, size_t len, char *why, size_t size)
		    MUST_CHECK;
void		 jwks_free(struct jwks **kp);	/* not NULL */

/* The algorithm by which a key signed data, "RS256" or "ES256"; or NULL. */
const char	*jwks_verify(const struct jwks *k, struct span data,
		    const uint8_t *signature, size_t len);

/* Decode base64url without padding (RFC 7515 section 2).  The length, or -1. */
ssize_t		 jwks_decode(struct span text, void *out, size_t size);
