/* master/auth/tokenline.c: lines about tokens. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "master/auth/tokenline.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

#define HEX	"00112233445566778899aabbccddeeff"			\
	"00112233445566778899AABBCCDDEEFF"
#define HASH	"sha256:" HEX
#define NAME32	"abcdefghijklmnopqrstuvwxyz012345"

static const struct {
	const char	*text, *name, *user;
} good[] = {
	{ "ci " HASH, "ci", "" },
	{ "ci " HASH " user=bob", "ci", "bob" },
	{ " \t a.b_c-9\t" HASH "  user=b=c \t", "a.b_c-9", "b=c" },
	{ NAME32 " " HASH, NAME32, "" },
};

START_TEST(test_good)
{
	static const uint8_t	 hash[] = { 0x00, 0x11, 0x22, 0x33, 0x44,
				    0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
				    0xcc, 0xdd, 0xee, 0xff };
	struct tokenline	 t;

	ck_assert_ptr_null(tokenline_parse(good[_i].text,
	    strlen(good[_i].text), &t));
	ck_assert_str_eq(t.name, good[_i].name);
	ck_assert_str_eq(t.user, good[_i].user);
	ck_assert_mem_eq(t.hash, hash, sizeof(hash));
	ck_assert_mem_eq(t.hash + sizeof(hash), hash, sizeof(hash));
}
END_TEST

static const struct {
	const char	*text, *why;
} bad[] = {
	{ "", "name" }, { " ", "name" }, { HASH, "name" },
	{ NAME32 "x " HASH, "name" }, { "a/b " HASH, "name" },
	{ "token:x " HASH, "name" }, { "\xc3\xa4 " HASH, "name" },
	{ "ci", "sha256:" }, { "ci " HEX, "sha256:" },
	{ "ci md5:" HEX, "sha256:" }, { "ci SHA256:" HEX, "sha256:" },
	{ "ci sha256:", "sha256:" }, { "ci sha256:00", "sha256:" },
	{ "ci " HASH "0", "sha256:" }, { "ci " HASH "00", "sha256:" },
	{ "ci sha256: " HEX, "sha256:" },
	{ "ci sha256:g0112233445566778899aabbccddeeff"
	    "00112233445566778899aabbccddeeff", "sha256:" },
	{ "ci " HASH "\r", "sha256:" },
	{ "ci " HASH " bob", "user=" }, { "ci " HASH " USER=bob", "user=" },
	{ "ci " HASH " user=", "user" }, { "ci " HASH " user= bob", "user" },
	{ "ci " HASH " user=b\xc3\xa4", "user" },
	{ "ci " HASH " user=bob x", "nothing" },
	{ "ci " HASH " user=bob user=eve", "nothing" },
};

START_TEST(test_bad)
{
	struct tokenline	 t;
	const char		*why;

	why = tokenline_parse(bad[_i].text, strlen(bad[_i].text), &t);
	ck_assert_ptr_nonnull(why);
	ck_assert_msg(strstr(why, bad[_i].why) != NULL, "%s: %s",
	    bad[_i].text, why);
}
END_TEST

START_TEST(test_lengths)
{
	static const char	 with_nul[] = "c\0i " HASH;
	struct tokenline	 t;
	char			 text[512];
	int			 n;

	n = snprintf(text, sizeof(text), "ci " HASH " user=%0255d", 1);
	ck_assert_ptr_null(tokenline_parse(text, (size_t)n, &t));
	ck_assert_uint_eq(strlen(t.user), TOKEN_USER_MAX);
	n = snprintf(text, sizeof(text), "ci " HASH " user=%0256d", 1);
	ck_assert_ptr_nonnull(tokenline_parse(text, (size_t)n, &t));
	ck_assert_ptr_nonnull(tokenline_parse(with_nul, sizeof(with_nul) - 1,
	    &t));
	/* No byte behind the length counts. */
	ck_assert_ptr_null(tokenline_parse("ci " HASH "00", 3 + 7 + 64, &t));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("tokenline");
	TCase	*t = tcase_create("tokenline");
	SRunner	*r;
	int	 failed;

	tcase_add_loop_test(t, test_good, 0, N(good));
	tcase_add_loop_test(t, test_bad, 0, N(bad));
	tcase_add_test(t, test_lengths);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
