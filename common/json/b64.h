/*
 * Base64 (RFC 4648 section 4), strict: standard alphabet, with padding.  Pure.
 * Not for secrets (table look-ups).  Uses AVX2 if the processor has it.
 */
#pragma once

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/* Length of the encoding, without NUL. */
#define B64_ENCODED_LEN(n)	(((size_t)(n) + 2) / 3 * 4)

/* Upper bound of the decoded length. */
#define B64_DECODED_MAX(n)	((size_t)(n) / 4 * 3)

/* Encode into B64_ENCODED_LEN(len) bytes, no NUL.  Return the length. */
size_t	 b64_encode(char *out, const void *data, size_t len);

/*
 * Decode into B64_DECODED_MAX(len) bytes, which may be text itself.  Return the
 * number of bytes, or -1 with errno EINVAL (also white space, wrong padding, or
 * non-zero bits after the last byte); out is then undefined.
 */
ssize_t	 b64_decode(void *out, const char *text, size_t len) MUST_CHECK;
