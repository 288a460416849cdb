/*
 * Signed bearer tokens: JSON Web Tokens (RFC 7519) in compact form, signed
 * with HMAC-SHA-256 (HS256 of RFC 7518).  Pure.
 *
 * Nothing is looked at before the signature is right: what is parsed then was
 * written by somebody who has the secret.
 */
#ifndef MASTER_AUTH_JWT_H
#define MASTER_AUTH_JWT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JWT_SECRET_MIN	32	/* bytes, as the reference */
#define JWT_MAX		8192	/* bytes of a token */
#define JWT_SUBJECT_MAX	64	/* characters kept of "sub" */

/* What a token must say. */
struct jwt_rules {
	const uint8_t	*secret;
	size_t		 secret_len;
	const char	*issuer;	/* NULL: whatever it is */
	const char	*audience;	/* the same */
	uint64_t	 skew;		/* seconds that clocks may differ by */
	bool		 needs_subject;
};

enum jwt_verdict {
	JWT_GOOD,
	JWT_FORGED,		/* the signature is not by that secret */
	JWT_MALFORMED,		/* from here on: signed, and yet not taken */
	JWT_EXPIRED,
	JWT_EARLY,
	JWT_ISSUER,
	JWT_AUDIENCE,
	JWT_SUBJECT
};

/*
 * Judge a token at a time (Unix seconds).  As the reference: "exp" is needed,
 * "nbf" counts when it is there, both whole numbers; "iss" is a string and
 * "aud" a string or a list of them, compared where the rules name one.
 * Stricter: the algorithm is HS256 and nothing else, an extension that must be
 * understood ("crit") is not, no member occurs twice.
 *
 * subject_out: "sub" if it is a string of up to JWT_SUBJECT_MAX visible
 * characters, any other string as "#" and a hash of it; or empty, if there is
 * none and none is needed.
 */
enum jwt_verdict jwt_judge(const struct jwt_rules *rules, const char *token,
	    size_t len, uint64_t now, char subject_out[JWT_SUBJECT_MAX + 1])
	    __attribute__((warn_unused_result));

/* For a log: "expired". */
const char	*jwt_why(enum jwt_verdict v);

#endif
