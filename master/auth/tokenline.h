/*
 * A line about a token: "NAME sha256:HEX [user=USER]", the value of the
 * keyword Token and a line of a TokenFile.  Pure.
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

/* Parse words between blanks.  NULL, or what is wrong, t undefined. */
const char	*tokenline_parse(const char *text, size_t len,
		    struct tokenline *t) MUST_CHECK;
