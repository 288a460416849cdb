/*
 * Signed bearer tokens: JSON Web Tokens (RFC 7519) in compact form with
 * HMAC-SHA-256 (HS256 of RFC 7518) or a public key (RS256, ES256).  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "master/auth/jwks.h"

#define JWT_SECRET_MIN	32	/* bytes, as the reference */
#define JWT_MAX		8192	/* bytes of a token */
#define JWT_SUBJECT_MAX	64	/* characters kept of "sub" */

struct jwt_rules {
	const uint8_t	*secret;	/* NULL: not by HS256 */
	size_t		 secret_len;
	const struct jwks *keys;	/* NULL: not by public keys */
	const char	*issuer;	/* NULL: any */
	const char	*audience;	/* NULL: any */
	uint64_t	 skew;		/* seconds, of clocks */
	bool		 needs_subject;
};

/* "groups" and "exp" of a token; name leads into text. */
#define JWT_GROUPS_MAX	256
struct jwt_groups {
	char	*name[JWT_GROUPS_MAX];
	size_t	 n;
	uint64_t expires;		/* Unix seconds */
	char	 text[JWT_MAX];
};

enum jwt_verdict {
	JWT_GOOD,
	JWT_FORGED,		/* not signed with the secret, or a key */
	JWT_MALFORMED,		/* this and the rest: signed, but refused */
	JWT_EXPIRED,
	JWT_EARLY,
	JWT_ISSUER,
	JWT_AUDIENCE,
	JWT_SUBJECT
};

/*
 * now: Unix seconds.  subject_out: "sub" of up to JWT_SUBJECT_MAX visible
 * characters, another string as "#" and a hash; "": none, and not required.
 */
enum jwt_verdict jwt_judge(const struct jwt_rules *rules, const char *token,
	    size_t len, uint64_t now, char subject_out[JWT_SUBJECT_MAX + 1])
	    MUST_CHECK;

/*
 * With "groups", a string or a list of them: malformed if one is empty or has
 * control characters, or if there are too many.
 */
enum jwt_verdict jwt_judge_groups(const struct jwt_rules *rules,
	    const char *token, size_t len, uint64_t now,
	    char subject_out[JWT_SUBJECT_MAX + 1],
	    struct jwt_groups *groups_out) MUST_CHECK;

/* For the log: "expired". */
const char	*jwt_why(enum jwt_verdict v);
