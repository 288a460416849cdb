#include "common/json/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/json/json.h"
#include "t/unit/json_help.h"

#define FFFD		"\xef\xbf\xbd"

static struct buf	 b;
static struct json_out	 o;

static void
start(void)
{
	buf_init(&b, 1 << 24);
	json_out_init(&o, &b);
}

static void
stop(void)
{
	buf_fini(&b);
}

static void
ck_written(const char *want, size_t len)
{
	ck_assert_int_eq(json_out_fini(&o), 0);
	ck_assert_uint_eq(b.len, len);
	ck_assert_mem_eq(buf_data(&b), want, len);
}

START_TEST(test_message)
{
	json_out_open(&o, '{');
	json_out_key(&o, "id");
	json_out_u64(&o, 1);
	json_out_key(&o, "result");
	json_out_open(&o, '{');
	json_out_key(&o, "list");
	json_out_open(&o, '[');
	json_out_open(&o, '[');
	json_out_close(&o, ']');
	json_out_open(&o, '{');
	json_out_close(&o, '}');
	json_out_str(&o, "a\"");
	json_out_null(&o);
	json_out_bool(&o, true);
	json_out_bool(&o, false);
	json_out_i64(&o, -5);
	json_out_b64(&o, "hello", 5);
	json_out_raw(&o, T("{\"raw\": 1}"));
	json_out_close(&o, ']');
	json_out_key_text(&o, T("a\0\xff"));
	json_out_text(&o, T(""));
	json_out_close(&o, '}');
	json_out_key(&o, "z");
	json_out_open(&o, '{');
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	ck_written(T("{\"id\":1,\"result\":{\"list\":[[],{},\"a\\\"\",null,"
	    "true,false,-5,\"aGVsbG8=\",{\"raw\": 1}],\"a\\u0000" FFFD "\":\"\""
	    "},\"z\":{}}"));
}
END_TEST

START_TEST(test_pairs)
{
	json_out_open(&o, '{');
	json_out_pair(&o, "a", "x\"");
	json_out_pair_u64(&o, "b", UINT64_MAX);
	json_out_pair_bool(&o, "c", true);
	json_out_pair_bool(&o, "d", false);
	json_out_close(&o, '}');
	ck_written(T("{\"a\":\"x\\\"\",\"b\":18446744073709551615,\"c\":true,"
	    "\"d\":false}"));
}
END_TEST

/* A text alone has no comma, and bytes already held stay. */
/* What steers a terminal, or the direction of text, and its neighbours. */
START_TEST(test_shown)
{
	static const char	 orders[] = "a\x7f" "b\xc2\x80\xc2\x9f\xd8\x9c"
		"\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa\xe2\x80\xae"
		"\xe2\x81\xa6\xe2\x81\xa9\x1b\xff";
	static const char	 plain[] = "~\xc2\xa0\xd8\x9b\xd8\x9d\xc4\x9c"
		"\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5"
		"\xe2\x81\xaa\xe3\x80\x8e\xf0\x9d\x82\x80";
	static const char	 escaped[] = "a\\u007fb\\u0080\\u009f\\u061c"
		"\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069\\u001b" FFFD;
	struct buf		 want;

	buf_init(&want, 4096);
	json_out_open(&o, '[');
	json_out_text(&o, T(orders));
	json_out_shown(&o);
	json_out_text(&o, T(orders));
	json_out_text(&o, T(plain));
	json_out_text(&o, T(""));
	json_out_raw(&o, T("\"\x7f\xc2\x9b\\n\""));
	json_out_close(&o, ']');
	ck_assert(buf_put(&want, "[\"", 2) == 0 &&
	    buf_put(&want, orders, sizeof(orders) - 3) == 0 &&
	    buf_put(&want, T("\\u001b" FFFD "\",\"")) == 0 &&
	    buf_put(&want, T(escaped)) == 0 &&
	    buf_put(&want, T("\",\"")) == 0 &&
	    buf_put(&want, T(plain)) == 0 &&
	    buf_put(&want, T("\",\"\",\"\\u007f\\u009b\\n\"]")) == 0);
	ck_written((const char *)buf_data(&want), want.len);
	buf_fini(&want);
}
END_TEST

START_TEST(test_behind_others)
{
	ck_assert_int_eq(buf_put(&b, "x", 1), 0);
	json_out_str(&o, "y");
	ck_written(T("x\"y\""));
}
END_TEST

static const struct {
	const char	*text;
	size_t		 len;
	const char	*json;
} texts[] = {
	{ T(""), "" },
	{ T("a"), "a" },
	{ T("\"\\/"), "\\\"\\\\/" },
	{ T("\b\f\n\r\t"), "\\b\\f\\n\\r\\t" },
	{ T("\0\x01\x0b\x1f\x7f"), "\\u0000\\u0001\\u000b\\u001f\x7f" },
	{ T("nothing to do in more than thirty-two bytes"),
	    "nothing to do in more than thirty-two bytes" },
	{ T("sixteen bytes ..\n"), "sixteen bytes ..\\n" },
	{ T("\nsixteen bytes ..\n\n"), "\\nsixteen bytes ..\\n\\n" },
	/* valid UTF-8 stays, the first and last of each length */
	{ T("\xc2\x80\xdf\xbf"), "\xc2\x80\xdf\xbf" },
	{ T("\xe0\xa0\x80\xed\x9f\xbf"), "\xe0\xa0\x80\xed\x9f\xbf" },
	{ T("\xee\x80\x80\xef\xbf\xbf"), "\xee\x80\x80\xef\xbf\xbf" },
	{ T("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
	    "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
	{ T("\xe2\x80\xa8\xef\xbb\xbf"), "\xe2\x80\xa8\xef\xbb\xbf" },
	{ T("caf\xc3\xa9\n"), "caf\xc3\xa9\\n" },
	/* other bytes do not: one U+FFFD for each */
	{ T("\x80"), FFFD },
	{ T("\xff\xfe"), FFFD FFFD },
	{ T("a\xc3"), "a" FFFD },
	{ T("\xc3" "a"), FFFD "a" },
	{ T("\xc3\xc3\xa9"), FFFD "\xc3\xa9" },
	{ T("\xc3\""), FFFD "\\\"" },
	{ T("\xe2\x82"), FFFD FFFD },
	{ T("\xe2\x82" "a"), FFFD FFFD "a" },
	{ T("\xf0\x9f\x98"), FFFD FFFD FFFD },
	{ T("\xc0\x80"), FFFD FFFD },			/* too long a form */
	{ T("\xc1\xbf"), FFFD FFFD },
	{ T("\xe0\x80\x80"), FFFD FFFD FFFD },
	{ T("\xe0\x9f\xbf"), FFFD FFFD FFFD },
	{ T("\xf0\x8f\xbf\xbf"), FFFD FFFD FFFD FFFD },
	{ T("\xed\xa0\x80"), FFFD FFFD FFFD },		/* surrogate */
	{ T("\xf4\x90\x80\x80"), FFFD FFFD FFFD FFFD },	/* too high */
	{ T("\xf5\x80\x80\x80"), FFFD FFFD FFFD FFFD },
	{ T("\x80\x80\xc3\xa9\x80"), FFFD FFFD "\xc3\xa9" FFFD },
};

START_TEST(test_text)
{
	char	 want[256];
	int	 n;

	json_out_text(&o, texts[_i].text, texts[_i].len);
	n = snprintf(want, sizeof(want), "\"%s\"", texts[_i].json);
	ck_written(want, (size_t)n);
}
END_TEST

/* The same as a key, and behind a run of every length. */
START_TEST(test_text_anywhere)
{
	char	 text[256], want[512];
	size_t	 run, n;

	for (run = 0; run < 70; run++) {
		memset(text, 'x', run);
		memcpy(text + run, texts[_i].text, texts[_i].len);
		memset(want, 'x', sizeof(want));
		want[0] = '"';
		n = run + 1;
		n += (size_t)sprintf(want + n, "%s\":", texts[_i].json);
		json_out_init(&o, &b);
		json_out_key_text(&o, text, run + texts[_i].len);
		ck_written(want, n);
		buf_drain(&b, b.len);
	}
}
END_TEST

START_TEST(test_numbers)
{
	static const int64_t	 i[] = { 0, 1, -1, 9, 10, -10, 99, 100,
				    INT64_MAX, INT64_MIN, INT64_MIN + 1 };
	static const uint64_t	 u[] = { 0, 9, 10, 4294967296, UINT64_MAX,
				    10000000000000000000u,
				    9999999999999999999u };
	char			 want[64];
	size_t			 k;
	int			 n;

	for (k = 0; k < sizeof(i) / sizeof(i[0]); k++) {
		json_out_init(&o, &b);
		json_out_i64(&o, i[k]);
		n = snprintf(want, sizeof(want), "%" PRId64, i[k]);
		ck_written(want, (size_t)n);
		buf_drain(&b, b.len);
	}
	for (k = 0; k < sizeof(u) / sizeof(u[0]); k++) {
		json_out_init(&o, &b);
		json_out_u64(&o, u[k]);
		n = snprintf(want, sizeof(want), "%" PRIu64, u[k]);
		ck_written(want, (size_t)n);
		buf_drain(&b, b.len);
	}
}
END_TEST

START_TEST(test_b64)
{
	json_out_open(&o, '[');
	json_out_b64(&o, NULL, 0);
	json_out_b64(&o, "", 0);
	json_out_b64(&o, "\0", 1);
	json_out_b64(&o, "\xff\xfe", 2);
	json_out_b64(&o, "\xfb\xff\xbf", 3);
	json_out_close(&o, ']');
	ck_written(T("[\"\",\"\",\"AA==\",\"//4=\",\"+/+/\"]"));
}
END_TEST

static void
write_all(struct json_out *out)
{
	json_out_open(out, '{');
	json_out_key(out, "k");
	json_out_str(out, "a text\n with an escape");
	json_out_key_text(out, T("k\n"));
	json_out_open(out, '[');
	json_out_str(out, "a text without");
	json_out_u64(out, 12345);
	json_out_i64(out, -12345);
	json_out_bool(out, true);
	json_out_null(out);
	json_out_b64(out, "bytes", 5);
	json_out_raw(out, T("[1,2]"));
	json_out_text(out, T("\xff\xff\xff\xff"));
	json_out_close(out, ']');
	json_out_close(out, '}');
}

/*
 * With every ceiling too low: the first error is told, nothing goes past the
 * ceiling, and what fits later is not written behind a gap.
 */
START_TEST(test_error_sticks)
{
	struct buf	 small;
	struct json_out	 out;
	size_t		 max;

	write_all(&o);
	ck_assert_int_eq(json_out_fini(&o), 0);
	for (max = 0; max <= b.len; max++) {
		buf_init(&small, max);
		json_out_init(&out, &small);
		write_all(&out);
		errno = 0;
		if (max < b.len) {
			ck_assert_int_eq(json_out_fini(&out), -1);
			ck_assert_int_eq(errno, EFBIG);
		} else {
			ck_assert_int_eq(json_out_fini(&out), 0);
			ck_assert_uint_eq(small.len, b.len);
		}
		ck_assert_uint_le(small.len, max);
		if (small.len > 0)
			ck_assert_mem_eq(buf_data(&small), buf_data(&b),
			    small.len);
		buf_fini(&small);
	}
}
END_TEST

START_TEST(test_init_forgets)
{
	b.max = 3;
	json_out_str(&o, "long");
	ck_assert_int_eq(json_out_fini(&o), -1);
	json_out_init(&o, &b);
	json_out_str(&o, "s");
	ck_written(T("\"s\""));
}
END_TEST

/*
 * Reader and writer
 */

/* Any bytes come back as they were, or with U+FFFD. */
START_TEST(test_round_trip_bytes)
{
	struct json	 j;
	char		 text[128];
	unsigned int	 seed = 1;
	size_t		 i, n, round;

	json_init(&j);
	for (round = 0; round < 20000; round++) {
		n = (size_t)rand_r(&seed) % sizeof(text);
		for (i = 0; i < n; i++)
			text[i] = (char)(rand_r(&seed) >> 7 & 0x7f);
		json_out_init(&o, &b);
		json_out_text(&o, text, n);
		ck_assert_int_eq(json_out_fini(&o), 0);
		ck_assert_int_eq(json_parse(&j, (char *)buf_data(&b), b.len),
		    0);
		ck_assert_uint_eq(json_tok(&j, 0)->type, JSON_STRING);
		ck_assert_uint_eq(json_tok(&j, 0)->len, n);
		if (n > 0)
			ck_assert_mem_eq(json_text(&j, 0), text, n);
		buf_drain(&b, b.len);
	}
	json_fini(&j);
}
END_TEST

/* What is written in the shortest form comes back byte for byte. */
START_TEST(test_round_trip_values)
{
	static const char *const	 rows[] = {
		"null", "true", "false", "-0", "1.50e+7", "\"\"", "[]", "{}",
		"[[],[[]],{}]", "[1,2,3]", "{\"a\":{\"b\":[{\"c\":null}]}}",
		"{\"\":\"\",\"\\u0000\":\"\\u001f\\n\\\"\\\\\"}",
		"[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\",1e400]",
		("{\"id\":9223372036854775807,\"method\":\"process/write\","
		    "\"params\":{\"processId\":\"p\",\"chunk\":\"aGkK\"}}"),
	};
	struct json			 j;
	char				*text;
	size_t				 i;

	json_init(&j);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text = json_copy(rows[i], strlen(rows[i]));
		ck_assert_int_eq(json_parse(&j, text, strlen(rows[i])),
		    0);
		json_out_init(&o, &b);
		json_write(&o, &j, 0);
		ck_written(rows[i], strlen(rows[i]));
		buf_drain(&b, b.len);
		free(text);
	}
	json_fini(&j);
}
END_TEST

START_TEST(test_round_trip_numbers)
{
	struct json	 j;
	uint64_t	 u, got;
	int64_t		 n;
	int		 shift;

	json_init(&j);
	for (shift = 0; shift < 64; shift++) {
		u = UINT64_MAX >> shift;
		json_out_init(&o, &b);
		json_out_open(&o, '[');
		json_out_u64(&o, u);
		json_out_i64(&o, -(int64_t)(u >> 1) - 1);
		json_out_close(&o, ']');
		ck_assert_int_eq(json_out_fini(&o), 0);
		ck_assert_int_eq(json_parse(&j, (char *)buf_data(&b), b.len),
		    0);
		ck_assert_int_eq(json_u64(&j, 1, &got), 0);
		ck_assert_uint_eq(got, u);
		ck_assert_int_eq(json_i64(&j, 2, &n), 0);
		ck_assert_int_eq(n, -(int64_t)(u >> 1) - 1);
		buf_drain(&b, b.len);
	}
	json_fini(&j);
}
END_TEST

int
main(void)
{
	const int	 ntexts = sizeof(texts) / sizeof(texts[0]);
	Suite		*s = suite_create("json_out");
	TCase		*tc = tcase_create("writer");
	SRunner		*sr;
	int		 failed;

	tcase_add_checked_fixture(tc, start, stop);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_message);
	tcase_add_test(tc, test_pairs);
	tcase_add_test(tc, test_shown);
	tcase_add_test(tc, test_behind_others);
	tcase_add_loop_test(tc, test_text, 0, ntexts);
	tcase_add_loop_test(tc, test_text_anywhere, 0, ntexts);
	tcase_add_test(tc, test_numbers);
	tcase_add_test(tc, test_b64);
	tcase_add_test(tc, test_error_sticks);
	tcase_add_test(tc, test_init_forgets);
	tcase_add_test(tc, test_round_trip_bytes);
	tcase_add_test(tc, test_round_trip_values);
	tcase_add_test(tc, test_round_trip_numbers);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
