/* worker/proxy/helper/proxybody.c: where bodies end; malformed ones. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/proxy/helper/proxybody.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

#define MORE	(-2)		/* it is not over */

/* Give it the text in pieces.  Where it ends, MORE, or -1: malformed. */
static ssize_t
take(struct proxybody *b, const char *text, size_t len, size_t piece)
{
	size_t	 at = 0, n;
	ssize_t	 got;

	while (at < len && !b->is_over) {
		n = len - at < piece ? len - at : piece;
		if ((got = proxybody_take(b, text + at, n)) == -1)
			return -1;
		ck_assert_int_ge(got, 0);
		ck_assert(b->is_over || (size_t)got == n);
		at += (size_t)got;
	}
	return b->is_over ? (ssize_t)at : MORE;
}

/* --- chunks ----------------------------------------------------------------*/

static const struct chunks {
	ssize_t		 end;
	size_t		 len;
	const char	*text;
} chunks[] = {
#define ROW(end, text)	{ end, sizeof(text) - 1, text }
#define ALL(text)	ROW(sizeof(text) - 1, text)
	ALL("0\r\n\r\n"),
	ALL("000\r\n\r\n"),
	ALL("3\r\nabc\r\n0\r\n\r\n"),
	ALL("3\r\na\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n"),
	ALL("a\r\n0123456789\r\n0\r\n\r\n"),
	ALL("3;x=\"y\"\r\nabc\r\n0;z\r\nA: b\r\nC:\r\n\r\n"),
	ALL("3;\tx\x80\r\nabc\r\n0\r\nX: \xff\r\n\r\n"),
	/* What follows is the next request. */
	ROW(5, "0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
	ROW(13, "3\r\nabc\r\n0\r\n\r\n0\r\n\r\n"),
	ROW(MORE, ""), ROW(MORE, "3"), ROW(MORE, "3\r\nab"),
	ROW(MORE, "3\r\nabc\r\n0\r\n"), ROW(MORE, "0\r\n\r"),
	/* ends of lines that not everybody takes */
	ROW(-1, "3\nabc\r\n0\r\n\r\n"),
	ROW(-1, "3\r\rabc\r\n0\r\n\r\n"),
	ROW(-1, "3\r\nabc\n0\r\n\r\n"),
	ROW(-1, "3\r\nabc\r0\r\n\r\n"),
	ROW(-1, "0\r\n\n"),
	ROW(-1, "3;x\n\r\nabc\r\n0\r\n\r\n"),
	ROW(-1, "3;x\rabc"),
	ROW(-1, "0\r\nX: y\nGET / HTTP/1.1\r\n\r\n"),
	ROW(-1, "0\r\nX: y\r\r\n\r\n"),
	/* sizes */
	ROW(-1, "\r\nabc\r\n0\r\n\r\n"),
	ROW(-1, "0x3\r\nabc\r\n0\r\n\r\n"),
	ROW(-1, "+3\r\nabc\r\n0\r\n\r\n"),
	ROW(-1, "-3\r\n"),
	ROW(-1, " 3\r\nabc\r\n0\r\n\r\n"),
	ROW(-1, "3 \r\nabc\r\n0\r\n\r\n"),
	ROW(-1, "g\r\n"),
	ROW(-1, ";x\r\n"),
	ROW(-1, "3,4\r\n"),
	ROW(-1, "0000000000000003\r\nabc\r\n0\r\n\r\n"),
	ROW(-1, "10000000000000003\r\nabc\r\n0\r\n\r\n"),
	/* less or more than the size says */
	ROW(-1, "3\r\nabcd\r\n0\r\n\r\n"),
	ROW(-1, "4\r\nabc\r\n0\r\n\r\n"),
	/* trailers */
	ROW(-1, "0\r\n folded\r\n\r\n"),
	ROW(-1, "0\r\nX: y\r\n\tfolded\r\n\r\n"),
	ROW(-1, "0\r\nX y: z\r\n\r\n"),
	ROW(-1, "0\r\nX\r\n\r\n"),
	ROW(-1, "0\r\n: y\r\n\r\n"),
	ROW(-1, "0\r\nX: a\0b\r\n\r\n"),
	ROW(-1, "0\r\nX\x80: y\r\n\r\n"),
	ROW(-1, "3;x\0y\r\nabc\r\n0\r\n\r\n"),
#undef ROW
#undef ALL
};

START_TEST(test_chunks)
{
	const struct chunks	*c = &chunks[_i];
	struct proxybody	 b;

	for (size_t piece = 1; piece <= c->len + 1; piece++) {
		proxybody_start(&b, PROXYBODY_CHUNKED, 0);
		ck_assert(!b.is_over);
		ck_assert_int_eq(take(&b, c->text, c->len, piece), c->end);
	}
}
END_TEST

/* Sizes of 15 digits are not cut. */
START_TEST(test_large_chunk)
{
	struct proxybody	 b;

	proxybody_start(&b, PROXYBODY_CHUNKED, 0);
	ck_assert_int_eq(proxybody_take(&b, "fffffffffffffff\r\nx", 18), 18);
	ck_assert_uint_eq(b.left, 0xffffffffffffffeULL);
}
END_TEST

/* Extensions and trailers have an end, data have none. */
START_TEST(test_long_lines)
{
	static const char	*begin[] = { "1;", "0\r\nX:", "0\r\n" };
	static const char	 trailer[] = "X:\r\n";
	struct proxybody	 b;
	ssize_t			 got;
	size_t			 n;

	for (size_t i = 0; i < N(begin); i++) {
		proxybody_start(&b, PROXYBODY_CHUNKED, 0);
		got = proxybody_take(&b, begin[i], strlen(begin[i]));
		ck_assert_int_eq(got, (ssize_t)strlen(begin[i]));
		for (n = 0; got != -1 && n <= LIMIT_NET_HEAD; n++)
			got = i < 2 ? proxybody_take(&b, "x", 1) :
			    proxybody_take(&b, trailer, 4);
		ck_assert_int_eq(got, -1);
		ck_assert_uint_lt(n, LIMIT_NET_HEAD);
	}
	proxybody_start(&b, PROXYBODY_CHUNKED, 0);
	for (n = 0; n < LIMIT_NET_HEAD; n++)
		ck_assert_int_eq(proxybody_take(&b, "1\r\nx\r\n", 6), 6);
	ck_assert(!b.is_over);
}
END_TEST

/* --- lengths ---------------------------------------------------------------*/

START_TEST(test_lengths)
{
	struct proxybody	 b;

	proxybody_start(&b, PROXYBODY_LENGTH, 5);
	ck_assert_int_eq(take(&b, "abcdefgh", 8, 3), 5);
	ck_assert_int_eq(proxybody_take(&b, "fgh", 3), 0);
	proxybody_start(&b, PROXYBODY_LENGTH, 0);
	ck_assert(b.is_over);
	proxybody_start(&b, PROXYBODY_NONE, 5);
	ck_assert(b.is_over);
	ck_assert_int_eq(proxybody_take(&b, "abc", 3), 0);
	proxybody_start(&b, PROXYBODY_TO_END, 0);
	ck_assert_int_eq(take(&b, "0\r\n\r\n", 5, 2), MORE);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxybody");
	TCase	*t = tcase_create("proxybody");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_chunks, 0, N(chunks));
	tcase_add_test(t, test_large_chunk);
	tcase_add_test(t, test_long_lines);
	tcase_add_test(t, test_lengths);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
