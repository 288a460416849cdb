/*
 * A Token setting, or line of a TokenFile: "NAME sha256:HEX [user=USER]".
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TOKEN_NAME_MAX	32	/* characters of NAME */
#define TOKEN_USER_MAX	255	/* and of USER */
#define TOKEN_HASH_LEN	32	/* bytes: SHA-256 */

struct tokenline {
	char	 name[TOKEN_NAME_MAX + 1];
	uint8_t	 hash[TOKEN_HASH_LEN];
	char	 user[TOKEN_USER_MAX + 1];	/* or empty */
};

/* NULL, or what is wrong, t undefined. */
const char	*tokenline_parse(const char *text, size_t len,
		    struct tokenline *t) MUST_CHECK;
