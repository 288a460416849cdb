#include <sys/mman.h>

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json/utf8.h"

/*
 * By decoding: the value must be one that needs this length, no surrogate and
 * not above U+10FFFF.
 */
static bool
naive_is_valid(const uint8_t *p, size_t len)
{
	static const uint32_t	 least[] = { 0, 0x80, 0x800, 0x10000 };
	uint32_t		 v;
	size_t			 i, more;

	while (len > 0) {
		if (*p < 0x80)
			more = 0, v = *p;
		else if ((*p & 0xe0) == 0xc0)
			more = 1, v = *p & 0x1fu;
		else if ((*p & 0xf0) == 0xe0)
			more = 2, v = *p & 0x0fu;
		else if ((*p & 0xf8) == 0xf0)
			more = 3, v = *p & 0x07u;
		else
			return false;
		if (len <= more)
			return false;
		for (i = 1; i <= more; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return false;
			v = v << 6 | (p[i] & 0x3fu);
		}
		if (v < least[more] || v > 0x10ffff ||
		    (v >= 0xd800 && v <= 0xdfff))
			return false;
		p += more + 1;
		len -= more + 1;
	}
	return true;
}

static size_t
put_char(uint8_t *p, uint32_t v)
{
	if (v < 0x80) {
		p[0] = (uint8_t)v;
		return 1;
	}
	if (v < 0x800) {
		p[0] = (uint8_t)(0xc0 | v >> 6);
		p[1] = (uint8_t)(0x80 | (v & 0x3f));
		return 2;
	}
	if (v < 0x10000) {
		p[0] = (uint8_t)(0xe0 | v >> 12);
		p[1] = (uint8_t)(0x80 | (v >> 6 & 0x3f));
		p[2] = (uint8_t)(0x80 | (v & 0x3f));
		return 3;
	}
	p[0] = (uint8_t)(0xf0 | v >> 18);
	p[1] = (uint8_t)(0x80 | (v >> 12 & 0x3f));
	p[2] = (uint8_t)(0x80 | (v >> 6 & 0x3f));
	p[3] = (uint8_t)(0x80 | (v & 0x3f));
	return 4;
}

static const struct sample {
	bool		 valid;
	size_t		 len;
	const char	*text;
} samples[] = {
#define GOOD(s)	{ true, sizeof(s) - 1, s }
#define BAD(s)	{ false, sizeof(s) - 1, s }
	GOOD(""), GOOD("a"), GOOD("\0"), GOOD("a\0b"), GOOD("\x7f"),
	GOOD("\xc2\x80"), GOOD("\xdf\xbf"),
	GOOD("\xe0\xa0\x80"), GOOD("\xe0\xbf\xbf"), GOOD("\xe1\x80\x80"),
	GOOD("\xec\xbf\xbf"), GOOD("\xed\x80\x80"), GOOD("\xed\x9f\xbf"),
	GOOD("\xee\x80\x80"), GOOD("\xef\xbf\xbf"), GOOD("\xef\xbb\xbf"),
	GOOD("\xef\xbf\xbe"), GOOD("\xf0\x90\x80\x80"),
	GOOD("\xf0\xbf\xbf\xbf"), GOOD("\xf1\x80\x80\x80"),
	GOOD("\xf3\xbf\xbf\xbf"), GOOD("\xf4\x80\x80\x80"),
	GOOD("\xf4\x8f\xbf\xbf"),
	GOOD("\xe2\x89\xa2\xce\x91\xed\x95\x9c\xf0\xa3\x8e\xb4."),
	/* stray continuations, bytes that never occur */
	BAD("\x80"), BAD("\xbf"), BAD("a\x80"), BAD("\xc2\x80\x80"),
	BAD("\xfe"), BAD("\xff"), BAD("\xf5\x80\x80\x80"), BAD("\xf8"),
	BAD("\xf8\x88\x80\x80\x80"), BAD("\xfc\x84\x80\x80\x80\x80"),
	/* overlong forms */
	BAD("\xc0\x80"), BAD("\xc0\xaf"), BAD("\xc1\xbf"),
	BAD("\xe0\x80\x80"), BAD("\xe0\x80\xaf"), BAD("\xe0\x9f\xbf"),
	BAD("\xf0\x80\x80\x80"), BAD("\xf0\x80\x80\xaf"),
	BAD("\xf0\x8f\xbf\xbf"),
	/* surrogates, alone and in pairs */
	BAD("\xed\xa0\x80"), BAD("\xed\xbf\xbf"), BAD("\xed\xaf\xbf"),
	BAD("\xed\xa0\x81\xed\xb0\x80"),
	/* above U+10FFFF */
	BAD("\xf4\x90\x80\x80"), BAD("\xf4\xbf\xbf\xbf"),
	BAD("\xf7\xbf\xbf\xbf"),
	/* cut short, or cut by another character */
	BAD("\xc2"), BAD("\xe1"), BAD("\xe1\x80"), BAD("\xf1"),
	BAD("\xf1\x80"), BAD("\xf1\x80\x80"), BAD("\xc2" "a"),
	BAD("\xe1\x80" "a"), BAD("\xf1\x80\x80" "a"), BAD("\xc2\xc2\x80"),
	BAD("\xe1\x80\xc2\x80"), BAD("\xc2\0"), BAD("\xf1\x80\x80\xf1"),
};

/* Each sample at each place around the blocks of the module. */
START_TEST(test_samples)
{
	const struct sample	*s = &samples[_i];
	char			 text[320];
	size_t			 pre, post;

	ck_assert_int_eq(naive_is_valid((const uint8_t *)s->text, s->len),
	    s->valid);
	for (pre = 0; pre <= 140; pre++)
		for (post = 0; post <= 140; post += post < 4 ? 1 : 17) {
			memset(text, 'x', sizeof(text));
			memcpy(text + pre, s->text, s->len);
			ck_assert_msg(utf8_is_valid(text, pre + s->len + post)
			    == s->valid, "%zu before, %zu behind", pre, post);
		}
}
END_TEST

/*
 * A character that a block of ASCII cuts in two is none, although its parts are
 * what the blocks before and after that may end and begin with.
 */
START_TEST(test_cut_by_a_block)
{
	const struct sample	*s = &samples[_i];
	char			 text[192];
	size_t			 cut;

	for (cut = 1; s->valid && cut < s->len; cut++) {
		memset(text, 'x', sizeof(text));
		memcpy(text + 64 - cut, s->text, cut);
		memcpy(text + 128, s->text + cut, s->len - cut);
		ck_assert_msg(utf8_is_valid(text, 128 + s->len - cut) ==
		    naive_is_valid((uint8_t *)text, 128 + s->len - cut),
		    "after %zu", cut);
	}
}
END_TEST

START_TEST(test_every_char)
{
	uint8_t		 p[4];
	uint32_t	 v;
	bool		 valid;

	for (v = 0; v < 0x200000; v++) {
		valid = v <= 0x10ffff && (v < 0xd800 || v > 0xdfff);
		ck_assert_msg(utf8_is_valid(p, put_char(p, v)) == valid,
		    "U+%04X", (unsigned int)v);
	}
}
END_TEST

/* Every sequence of up to three bytes. */
START_TEST(test_every_three)
{
	uint8_t		 p[3];
	uint32_t	 v;

	for (v = 0; v < 0x1000000; v++) {
		p[0] = (uint8_t)(v >> 16);
		p[1] = (uint8_t)(v >> 8);
		p[2] = (uint8_t)v;
		if (utf8_is_valid(p, 3) != naive_is_valid(p, 3) ||
		    (p[2] == 0 && utf8_is_valid(p, 2) !=
		    naive_is_valid(p, 2)))
			ck_abort_msg("%02x %02x %02x", p[0], p[1], p[2]);
	}
	for (v = 0; v < 256; v++) {
		p[0] = (uint8_t)v;
		ck_assert_int_eq(utf8_is_valid(p, 1), v < 128);
	}
}
END_TEST

/* Four bytes that begin like a character of four. */
START_TEST(test_every_four)
{
	static const uint8_t	 last[] = { 0, 0x7f, 0x80, 0xbf, 0xc0, 0xff };
	uint8_t			 p[4];
	uint32_t		 v;
	size_t			 i;

	for (v = 0xe00000; v < 0x1000000; v++)
		for (i = 0; i < sizeof(last); i++) {
			p[0] = (uint8_t)(v >> 16);
			p[1] = (uint8_t)(v >> 8);
			p[2] = (uint8_t)v;
			p[3] = last[i];
			if (utf8_is_valid(p, 4) != naive_is_valid(p, 4))
				ck_abort_msg("%02x %02x %02x %02x", p[0], p[1],
				    p[2], p[3]);
		}
}
END_TEST

/* Random text that ends where the next byte faults, sometimes damaged. */
START_TEST(test_random)
{
	size_t		 page = (size_t)sysconf(_SC_PAGESIZE), len, want;
	uint8_t		*base, *p;
	long		 round;

	base = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(base != MAP_FAILED);
	ck_assert_int_eq(mprotect(base + page, page, PROT_NONE), 0);
	for (round = 0; round < 60000; round++) {
		want = (size_t)random() % 301;
		for (p = base, len = 0; len < want; len += put_char(p + len,
		    (uint32_t)random() & (random() % 4 ? 0x7f :
		    random() % 2 ? 0x7ff : 0xffff)))
			;
		if (len > 0 && random() % 2)
			p[(size_t)random() % len] = (uint8_t)random();
		if (len > 0)
			len -= (size_t)random() % (len < 3 ? len : 3);
		p = memmove(base + page - len, base, len);
		ck_assert_int_eq(utf8_is_valid(p, len),
		    naive_is_valid(p, len));
	}
}
END_TEST

START_TEST(test_large)
{
	size_t	 len = (1 << 20) + 13;
	char	*p = malloc(len);

	ck_assert(p != NULL);
	memset(p, 'a', len);
	ck_assert(utf8_is_valid(p, len));
	ck_assert(utf8_is_valid(NULL, 0));
	p[len - 1] = (char)0xc3;
	ck_assert(!utf8_is_valid(p, len));
	p[len - 2] = (char)0xc3;
	p[len - 1] = (char)0xa9;
	ck_assert(utf8_is_valid(p, len));
	p[len / 2] = (char)0xa9;
	ck_assert(!utf8_is_valid(p, len));
	free(p);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("utf8");
	TCase	*t = tcase_create("utf8");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	srandom(8);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_samples, 0,
	    (int)(sizeof(samples) / sizeof(samples[0])));
	tcase_add_loop_test(t, test_cut_by_a_block, 0,
	    (int)(sizeof(samples) / sizeof(samples[0])));
	tcase_add_test(t, test_every_char);
	tcase_add_test(t, test_every_three);
	tcase_add_test(t, test_every_four);
	tcase_add_test(t, test_random);
	tcase_add_test(t, test_large);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
