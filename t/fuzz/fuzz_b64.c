/* Decoding and encoding agree with a slow form of RFC 4648. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char	alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789+/";

static unsigned int
naive_bit(const uint8_t *data, size_t len, size_t bit)
{
	return bit < len * 8 ? data[bit / 8] >> (7 - bit % 8) & 1u : 0;
}

static char
naive_letter(const uint8_t *data, size_t len, size_t at)
{
	unsigned int	 v = 0;
	size_t		 bit;

	if (at * 6 >= len * 8)
		return '=';
	for (bit = at * 6; bit < at * 6 + 6; bit++)
		v = v << 1 | naive_bit(data, len, bit);
	return alphabet[v];
}

/*
 * The encoding is one to one: text is good if and only if it is the encoding
 * of what its letters say.
 */
static ssize_t
naive_decode(uint8_t *out, const char *text, size_t len)
{
	const char	*p;
	size_t		 letters = len, n, i, b;

	while (letters > 0 && text[letters - 1] == '=')
		letters--;
	n = letters * 6 / 8;
	memset(out, 0, n);
	for (i = 0; i < letters; i++) {
		if ((p = memchr(alphabet, text[i], 64)) == NULL)
			return -1;
		for (b = 0; b < 6; b++)
			if ((i * 6 + b) / 8 < n &&
			    (p - alphabet) >> (5 - b) & 1)
				out[(i * 6 + b) / 8] |=
				    (uint8_t)(0x80 >> (i * 6 + b) % 8);
	}
	if (len != B64_ENCODED_LEN(n))
		return -1;
	for (i = 0; i < len; i++)
		if (text[i] != naive_letter(out, n, i))
			return -1;
	return (ssize_t)n;
}

static void *
exactly(const void *data, size_t size)
{
	void	*p = malloc(size);

	CHECK(p != NULL || size == 0);
	if (size > 0 && data != NULL)
		memcpy(p, data, size);
	return p;
}

static void
check_decode(const char *text, size_t len)
{
	uint8_t	*want = malloc(len + 1);
	uint8_t	*got = exactly(NULL, B64_DECODED_MAX(len));
	char	*in = exactly(text, len);
	char	*again;
	ssize_t	 n = naive_decode(want, text, len);

	CHECK(b64_decode(got, in, len) == n);
	CHECK(len == 0 || memcmp(in, text, len) == 0);
	CHECK(b64_decode(in, in, len) == n);
	if (n > 0) {
		CHECK(memcmp(got, want, (size_t)n) == 0);
		CHECK(memcmp(in, want, (size_t)n) == 0);
		again = exactly(NULL, len);
		CHECK(b64_encode(again, got, (size_t)n) == len);
		CHECK(memcmp(again, text, len) == 0);
		free(again);
	}
	free(want);
	free(got);
	free(in);
}

static void
check_encode(const uint8_t *data, size_t len)
{
	size_t	 n = B64_ENCODED_LEN(len), i;
	uint8_t	*in = exactly(data, len);
	char	*text = exactly(NULL, n);

	CHECK(b64_encode(text, in, len) == n);
	for (i = 0; i < n; i++)
		CHECK(text[i] == naive_letter(data, len, i));
	/* good text, then the same with one letter of the input's choice */
	check_decode(text, n);
	if (n > 0) {
		text[data[0] * n / 256] = (char)data[len - 1];
		check_decode(text, n);
	}
	free(in);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_decode((const char *)data, size);
	check_encode(data, size);
	return 0;
}
