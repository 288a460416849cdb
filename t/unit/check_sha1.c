#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/sha1.h"

static void
ck_digest(const void *data, size_t len, const char *want)
{
	uint8_t	 digest[SHA1_LEN];
	char	 hex[2 * SHA1_LEN + 1];
	int	 i;

	sha1(data, len, digest);
	for (i = 0; i < SHA1_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	ck_assert_str_eq(hex, want);
}

/* RFC 3174 section 7.3 and FIPS 180. */
START_TEST(test_vectors)
{
	char	 text[641];
	int	 i;

	ck_digest("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	ck_digest("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
	ck_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	    56, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	for (i = 0; i < 80; i++)
		memcpy(text + 8 * i, "01234567", 8);
	ck_digest(text, 640, "dea356a2cddd90c7a7ecedc5ebb563934f460452");
	ck_digest(NULL, 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}
END_TEST

START_TEST(test_million)
{
	char	*text = malloc(1000000);

	ck_assert(text != NULL);
	memset(text, 'a', 1000000);
	ck_digest(text, 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
	free(text);
}
END_TEST

/* Each length around the padding: the digest of all digests, from Python. */
START_TEST(test_lengths)
{
	char		 text[300];
	uint8_t		 all[300 * SHA1_LEN];
	size_t		 n;

	memset(text, 'x', sizeof(text));
	for (n = 0; n < 300; n++)
		sha1(text, n, all + n * SHA1_LEN);
	ck_digest(all, sizeof(all),
	    "4ee55c5e082bdd64918ce81e1c13898cfa230941");
}
END_TEST

/* RFC 6455 section 1.3. */
START_TEST(test_websocket)
{
	const char	*text = "dGhlIHNhbXBsZSBub25jZQ=="
			    "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

	ck_digest(text, strlen(text),
	    "b37a4f2cc0624f1690f64606cf385945b2bec4ea");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("sha1");
	TCase	*t = tcase_create("sha1");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_vectors);
	tcase_add_test(t, test_million);
	tcase_add_test(t, test_lengths);
	tcase_add_test(t, test_websocket);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
