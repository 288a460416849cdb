/*
 * worker/session/asciicast.c: what a transcript has in it; and
 * common/json/utf8.c's rests.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"
#include "worker/session/asciicast.h"

static struct asciicast	 tty = { .is_terminal = true };
static struct asciicast	 pipes = { .json_id = "\"p\"", .json_id_len = 3 };
static struct buf	 b;

static void
setup(void)
{
	memset(tty.rest, 0, sizeof(tty.rest));
	memset(pipes.rest, 0, sizeof(pipes.rest));
	buf_init(&b, (size_t)1 << 20);
}

static void
teardown(void)
{
	buf_fini(&b);
}

/* All that was written since the last time. */
static const char *
written(int r)
{
	static char	 text[65536];

	ck_assert_int_eq(r, 0);
	ck_assert_uint_lt(b.len, sizeof(text));
	if (b.len > 0)
		memcpy(text, buf_data(&b), b.len);
	text[b.len] = '\0';
	buf_drain(&b, b.len);
	return text;
}

START_TEST(test_heads)
{
	static char	 cat[] = "cat", x[] = "\"x";
	char		*argv[] = { cat, x, NULL };
	struct asciicast_head h = { .time = 1700000000, .session = 7, .rows =
	    24,
			    .cols = 80 };

	ck_assert_str_eq(written(asciicast_head(&tty, &b, &h)),
	    "{\"version\":2,\"width\":80,\"height\":24,"
	    "\"timestamp\":1700000000,\"title\":\"session 7\"}\n");
	h.argv = argv;
	ck_assert_str_eq(written(asciicast_head(&tty, &b, &h)),
	    "{\"version\":2,\"width\":80,\"height\":24,"
	    "\"timestamp\":1700000000,\"title\":\"session 7\","
	    "\"command\":\"cat \\\"x\"}\n");
	ck_assert_str_eq(written(asciicast_head(&pipes, &b, &h)),
	    "{\"timestamp\":1700000000,\"session\":7}\n");
	ck_assert_str_eq(written(asciicast_start(&tty, &b, 5, 9, argv)), "");
	ck_assert_str_eq(written(asciicast_start(&pipes, &b, 1000005, 9, NULL)),
	    "{\"t\":1.000005,\"process\":\"p\",\"event\":\"start\","
	    "\"pid\":9}\n");
	ck_assert_str_eq(written(asciicast_start(&pipes, &b, 0, 9, argv)),
	    "{\"t\":0.000000,\"process\":\"p\",\"event\":\"start\","
	    "\"pid\":9,\"arguments\":[\"cat\",\"\\\"x\"]}\n");
}
END_TEST

START_TEST(test_events)
{
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 61500000, 0,
	    "a\r\n\x1b[m", 6)), "[61.500000,\"o\",\"a\\r\\n\\u001b[m\"]\n");
	ck_assert_str_eq(written(asciicast_resize(&tty, &b, 1, 40, 132)),
	    "[0.000001,\"r\",\"132x40\"]\n");
	ck_assert_str_eq(written(asciicast_resize(&pipes, &b, 1, 40, 132)), "");
	ck_assert_str_eq(written(asciicast_exit(&tty, &b, 2, 137)),
	    "[0.000002,\"m\",\"exit 137\"]\n");
	ck_assert_str_eq(written(asciicast_exit(&pipes, &b, 2, -1)),
	    "{\"t\":0.000002,\"process\":\"p\",\"event\":\"exit\","
	    "\"code\":-1}\n");
	ck_assert_str_eq(written(asciicast_cut(true, &b, 3, "full")),
	    "[0.000003,\"m\",\"cut: full\"]\n");
	ck_assert_str_eq(written(asciicast_cut(false, &b, 3, "full")),
	    "{\"t\":0.000003,\"event\":\"cut\",\"why\":\"full\"}\n");
	ck_assert_str_eq(written(asciicast_output(&pipes, &b, 0, 1, "x\n", 2)),
	    "{\"t\":0.000000,\"process\":\"p\",\"stream\":\"stderr\","
	    "\"data\":\"x\\n\"}\n");
	ck_assert_str_eq(written(asciicast_output(&pipes, &b, 0, 0, "x\xff",
	    2)), "{\"t\":0.000000,\"process\":\"p\",\"stream\":\"stdout\","
	    "\"base64\":\"eP8=\"}\n");
	ck_assert_str_eq(written(asciicast_output(&pipes, &b, 0, 0, "", 0)),
	    "");
}
END_TEST

/* Whoever looks at it in a terminal gives it no orders. */
START_TEST(test_shown)
{
	static char	 name[] = "\xc2\x9b" "1m\x7f\xe2\x80\xae";
	char		*argv[] = { name, NULL };
	struct asciicast	 c = { .json_id = "\"\xc2\x9b\"", .json_id_len =
	    4 };

	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, name, 8)),
	    "[0.000000,\"o\",\"\\u009b1m\\u007f\\u202e\"]\n");
	ck_assert_str_eq(written(asciicast_start(&c, &b, 0, 9, argv)),
	    "{\"t\":0.000000,\"process\":\"\\u009b\",\"event\":\"start\","
	    "\"pid\":9,\"arguments\":[\"\\u009b1m\\u007f\\u202e\"]}\n");
}
END_TEST

/* However long the reason, it fits what was kept for it. */
START_TEST(test_cut_fits)
{
	char	 why[500];

	memset(why, '\1', sizeof(why));
	why[sizeof(why) - 1] = '\0';
	ck_assert_int_eq(asciicast_cut(false, &b, UINT64_MAX, why), 0);
	memset(why, 'x', sizeof(why) - 1);
	buf_drain(&b, b.len);
	ck_assert_int_eq(asciicast_cut(false, &b, UINT64_MAX, why), 0);
	ck_assert_uint_le(b.len, ASCIICAST_END_MAX);
	buf_drain(&b, b.len);
	ck_assert_int_eq(asciicast_cut(true, &b, UINT64_MAX, why), 0);
	ck_assert_uint_le(b.len, ASCIICAST_END_MAX);
}
END_TEST

#define O(text)	"[0.000000,\"o\",\"" text "\"]\n"
#define BAD	"\xef\xbf\xbd"

START_TEST(test_cut_characters)
{
	const char	*euro = "\xe2\x82\xac", *clef = "\xf0\x9d\x84\x9e";

	/* One byte at a time. */
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, euro, 1)),
	    "");
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, euro + 1, 1)),
	    "");
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, euro + 2, 1)),
	    O("\xe2\x82\xac"));
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0,
	    "ab\xf0\x9d\x84", 5)), O("ab"));
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, clef + 3, 1)),
	    O("\xf0\x9d\x84\x9e"));
	/* What began and does not go on is each byte for itself. */
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, euro, 2)),
	    "");
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, "x", 1)),
	    O(BAD BAD "x"));
	/* What cannot go on does not wait: a surrogate, an overlong form. */
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, "\xed\xa0",
	    2)), O(BAD BAD));
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, "\xc0", 1)),
	    O(BAD));
	/* The end comes in the middle. */
	ck_assert_str_eq(written(asciicast_output(&tty, &b, 0, 0, clef, 3)),
	    "");
	ck_assert_str_eq(written(asciicast_close(&tty, &b, 0)), O(BAD BAD BAD));
	ck_assert_str_eq(written(asciicast_close(&tty, &b, 0)), "");
	/* Streams have nothing to do with one another. */
	ck_assert_str_eq(written(asciicast_output(&pipes, &b, 0, 0, euro, 2)),
	    "");
	ck_assert_str_eq(written(asciicast_output(&pipes, &b, 0, 1, euro, 1)),
	    "");
	ck_assert_ptr_nonnull(strstr(written(asciicast_output(&pipes, &b, 0, 0,
	    euro + 2, 1)), "\"stdout\",\"data\":\"\xe2\x82\xac\"}\n"));
	ck_assert_ptr_nonnull(strstr(written(asciicast_close(&pipes, &b, 0)),
	    "\"stderr\",\"base64\":\"4g==\"}\n"));
}
END_TEST

/* A line is there as a whole or not at all. */
START_TEST(test_no_room)
{
	buf_fini(&b);
	buf_init(&b, 40);
	ck_assert_int_eq(asciicast_output(&tty, &b, 0, 0, "short", 5), 0);
	ck_assert_int_eq(asciicast_output(&tty, &b, 0, 0, "too long for it",
	    15), -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_str_eq(written(0), O("short"));
	ck_assert_int_eq(asciicast_cut(false, &b, 0, "nobody knows why"), -1);
	ck_assert_uint_eq(b.len, 0);
}
END_TEST

START_TEST(test_rests)
{
	static const struct {
		const char	*text;
		size_t		 rest;
	} rows[] = {
		{ "", 0 }, { "a", 0 }, { "\xe2", 1 }, { "\xe2\x82", 2 },
		{ "\xe2\x82\xac", 0 }, { "a\xc3", 1 }, { "\xc3\xa4", 0 },
		{ "\xf0\x9d\x84", 3 }, { "\xf0\x9d", 2 }, { "\xf0", 1 },
		{ "\xf0\x9d\x84\x9e", 0 }, { "\xc1", 0 }, { "\xf5", 0 },
		{ "\xe0\x80", 0 }, { "\xe0\xa0", 2 }, { "\xed\xa0", 0 },
		{ "\xf0\x80", 0 }, { "\xf4\x90", 0 }, { "\xf4\x8f", 2 },
		{ "\x80", 0 }, { "\x80\x80\x80\x80", 0 }, { "\xff\xe2", 1 },
		{ "\xe2\x82\xe2", 1 }, { "\x82\x82\xe2\x82", 2 },
		{ "\xe2\xe2", 1 }, { "\xc3\xa4\xa4", 0 },
	};
	size_t	 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(utf8_rest(rows[i].text, strlen(rows[i].text)) ==
		    rows[i].rest, "row %zu", i);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("asciicast");
	TCase	*t = tcase_create("asciicast");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_heads);
	tcase_add_test(t, test_events);
	tcase_add_test(t, test_shown);
	tcase_add_test(t, test_cut_fits);
	tcase_add_test(t, test_cut_characters);
	tcase_add_test(t, test_no_room);
	tcase_add_test(t, test_rests);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
