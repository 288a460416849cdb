/*
 * Base64 of RFC 4648 section 4: the standard alphabet, with padding, strict.
 * Pure: no state, no allocation.  Not for secrets (table look-ups).
 *
 * The fastest way that this processor has (AVX2, else a table) is chosen at
 * each call; both give the same bytes.
 */
#ifndef COMMON_JSON_B64_H
#define COMMON_JSON_B64_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/* Length of the encoding of n bytes, without a NUL. */
#define B64_ENCODED_LEN(n)	(((size_t)(n) + 2) / 3 * 4)

/* Room that surely suffices to decode n characters. */
#define B64_DECODED_MAX(n)	((size_t)(n) / 4 * 3)

/*
 * Encode len bytes into out, which has room for B64_ENCODED_LEN(len).
 * Returns the length written.  No NUL is added.
 */
size_t	 b64_encode(char *out, const void *data, size_t len);

/*
 * Decode len characters into out, which has room for B64_DECODED_MAX(len)
 * and may be the same place as text (in situ). Returns the number of bytes,
 * or -1 with errno EINVAL: white space, a letter of another alphabet, missing
 * or misplaced padding, or bits behind the last byte that are not zero. What
 * out then holds is undefined.
 */
ssize_t	 b64_decode(void *out, const char *text, size_t len)
	    __attribute__((warn_unused_result));

#endif
