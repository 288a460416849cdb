/*
 * master/auth/jwt.c: any bytes as a token, which is never good; and any header
 * and claims (a line each) under a right signature: what is taken says what it
 * must, and is worth nothing with any bit of the signature changed.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "master/auth/jwt.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

#define MAC_LEN	crypto_auth_hmacsha256_BYTES

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET	(const uint8_t *)"0123456789abcdef0123456789abcdef"

static const struct jwt_rules	 strict = {
	.secret = SECRET, .secret_len = 32, .issuer = "me", .audience = "you",
	.skew = 30, .needs_subject = true
}, lenient = {
	.secret = SECRET, .secret_len = 32, .skew = 30
};

static size_t
encode(char *out, const void *data, size_t len)
{
	sodium_bin2base64(out, sodium_base64_ENCODED_LEN(len,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING), data, len,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return strlen(out);
}

static char *
make(const uint8_t *data, size_t size, size_t *len_out)
{
	const uint8_t			*claims = memchr(data, '\n', size);
	crypto_auth_hmacsha256_state	 st;
	uint8_t				 mac[MAC_LEN];
	char				*out = malloc(2 * size + 128);
	size_t				 n;

	MUST(out != NULL);
	n = encode(out, data, claims == NULL ? size :
	    (size_t)(claims - data));
	out[n++] = '.';
	n += claims == NULL ? 0 : encode(out + n, claims + 1,
	    size - (size_t)(claims - data) - 1);
	crypto_auth_hmacsha256_init(&st, strict.secret, strict.secret_len);
	crypto_auth_hmacsha256_update(&st, (uint8_t *)out, n);
	crypto_auth_hmacsha256_final(&st, mac);
	out[n++] = '.';
	*len_out = n + encode(out + n, mac, sizeof(mac));
	return out;
}

static void
check_subject(const char *subject)
{
	size_t	 i, len = strnlen(subject, JWT_SUBJECT_MAX + 1);

	MUST(len <= JWT_SUBJECT_MAX);
	for (i = 0; i < len; i++)
		MUST(subject[i] > ' ' && subject[i] <= '~');
}

static void
check_signed(const uint8_t *data, size_t size)
{
	char			 subject[JWT_SUBJECT_MAX + 1] = "";
	char			*text;
	size_t			 n;
	enum jwt_verdict	 v;

	text = make(data, size, &n);
	v = jwt_judge(&lenient, text, n, 1000, subject);
	MUST((v == JWT_FORGED) == (n > JWT_MAX));
	MUST(v != JWT_ISSUER && v != JWT_AUDIENCE);
	if (v == JWT_GOOD) {
		check_subject(subject);
		MUST(memmem(data, size, "exp", 3) != NULL ||
		    memchr(data, '\\', size) != NULL);
		MUST(jwt_judge(&lenient, text, n, UINT64_MAX / 2 + 100,
		    subject) == JWT_EXPIRED);
	}
	if (jwt_judge(&strict, text, n, 1000, subject) == JWT_GOOD)
		MUST(v == JWT_GOOD);
	text[n - 43 + size % 42] ^= (char)(1 << size % 7);
	MUST(jwt_judge(&lenient, text, n, 1000, subject) == JWT_FORGED);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	 subject[JWT_SUBJECT_MAX + 1] = "";
	char	*copy;

	MUST(sodium_init() != -1);
	if (size > 2 * JWT_MAX)
		return 0;
	MUST((copy = malloc(size == 0 ? 1 : size)) != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	MUST(jwt_judge(&lenient, copy, size, 1000, subject) == JWT_FORGED);
	free(copy);
	if (size > 0)
		check_signed(data, size);
	return 0;
}
