/* Base64 (RFC 4648 section 4), strict, padded; not for secrets.  Pure. */
#pragma once

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/* Without NUL. */
#define B64_ENCODED_LEN(n)	(((size_t)(n) + 2) / 3 * 4)

/* Upper bound. */
#define B64_DECODED_MAX(n)	((size_t)(n) / 4 * 3)

/* B64_ENCODED_LEN(len) bytes, no NUL.  Return that. */
size_t	 b64_encode(char *out, const void *data, size_t len);

/*
 * B64_DECODED_MAX(len) bytes, out may be text.  Return the length, or -1 with
 * errno EINVAL (also white space, padding, non-zero bits at the end), out
 * undefined.
 */
ssize_t	 b64_decode(void *out, const char *text, size_t len) MUST_CHECK;
