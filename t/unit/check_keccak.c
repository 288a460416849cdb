#include <check.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/keccak.h"

static void
ck_hex(const uint8_t *got, size_t len, const char *want)
{
	char	 hex[2 * SHA3_512_LEN + 1];

	ck_assert_uint_le(len, SHA3_512_LEN);
	sodium_bin2hex(hex, sizeof(hex), got, len);
	ck_assert_str_eq(hex, want);
}

/* The digest of data, len bytes of it. */
static void
digest(unsigned int rate, uint8_t suffix, const void *data, size_t n,
    uint8_t *out, size_t len)
{
	struct keccak	 k;

	keccak_init(&k, rate, suffix);
	keccak_put(&k, data, n);
	keccak_get(&k, out, len);
	keccak_fini(&k);
}

/* NIST's examples, and Python's hashlib. */
START_TEST(test_vectors)
{
	uint8_t	 d[SHA3_512_LEN];

	digest(KECCAK_SHA3_256, "", 0, d, SHA3_256_LEN);
	ck_hex(d, SHA3_256_LEN,
	    "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a");
	digest(KECCAK_SHA3_256, "abc", 3, d, SHA3_256_LEN);
	ck_hex(d, SHA3_256_LEN,
	    "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532");
	digest(KECCAK_SHA3_512, "abc", 3, d, SHA3_512_LEN);
	ck_hex(d, SHA3_512_LEN,
	    "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e"
	    "10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0");
	digest(KECCAK_SHAKE128, "", 0, d, 32);
	ck_hex(d, 32,
	    "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26");
	digest(KECCAK_SHAKE256, "", 0, d, 32);
	ck_hex(d, 32,
	    "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f");
}
END_TEST

/* All lengths around one and two blocks: the digest of all digests. */
static void
ck_lengths(unsigned int rate, uint8_t suffix, size_t len, const char *want)
{
	static uint8_t	 all[400 * SHA3_512_LEN];
	uint8_t		 text[400], d[SHA3_512_LEN];
	size_t		 n;

	for (n = 0; n < sizeof(text); n++)
		text[n] = (uint8_t)n;
	for (n = 0; n < sizeof(text); n++)
		digest(rate, suffix, text, n, all + n * len, len);
	digest(rate, suffix, all, sizeof(text) * len, d, len);
	ck_hex(d, len, want);
}

/* Expected: Python's hashlib. */
START_TEST(test_lengths)
{
	ck_lengths(KECCAK_SHA3_256, SHA3_256_LEN,
	    "4512e14ff26d88314fd6c04add4462c7adc03c24f6fa211cd8fcd2d80208e215");
	ck_lengths(KECCAK_SHA3_512, SHA3_512_LEN,
	    "3fa7bcdb0d95f101bb5c088e4b3e1eaeca3f57bb42ba9ca04f5984a8082357ef"
	    "6a36b54283d226c28f7a9bb673574d699b27accd926c100c764621d5e4b884c9");
	ck_lengths(KECCAK_SHAKE128, 32,
	    "2d18a258a2e12e4a5053b1316d036f0a5d3d960f09dd49e3863a605b364b1e00");
	ck_lengths(KECCAK_SHAKE256, 32,
	    "c25abf6f6a9c2ab1067221700f1be858c0fac43ea198a7dd2c760b9296c533a4");
}
END_TEST

/* In pieces of any length it is the same as at once, in and out. */
START_TEST(test_pieces)
{
	struct keccak	 k;
	uint8_t		 text[1000], once[1000], pieces[1000];
	size_t		 piece, n, len;

	for (n = 0; n < sizeof(text); n++)
		text[n] = (uint8_t)(n * 7);
	digest(KECCAK_SHAKE128, text, sizeof(text), once, sizeof(once));
	for (piece = 1; piece < 400; piece += 13) {
		keccak_init(&k, KECCAK_SHAKE128);
		for (n = 0; n < sizeof(text); n += len) {
			len = sizeof(text) - n;
			if (len > piece)
				len = piece;
			keccak_put(&k, text + n, len);
		}
		keccak_put(&k, NULL, 0);
		for (n = 0; n < sizeof(pieces); n += len) {
			len = sizeof(pieces) - n;
			if (len > piece)
				len = piece;
			keccak_get(&k, pieces + n, len);
		}
		ck_assert_mem_eq(pieces, once, sizeof(once));
	}
}
END_TEST

START_TEST(test_wiped)
{
	struct keccak	 k, zero;

	memset(&zero, 0, sizeof(zero));
	keccak_init(&k, KECCAK_SHA3_256);
	keccak_put(&k, "secret", 6);
	keccak_fini(&k);
	ck_assert_mem_eq(&k, &zero, sizeof(k));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("keccak");
	TCase	*t = tcase_create("keccak");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_vectors);
	tcase_add_test(t, test_lengths);
	tcase_add_test(t, test_pieces);
	tcase_add_test(t, test_wiped);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
