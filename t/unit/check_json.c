#include "common/json/json.h"

#include <errno.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "t/unit/json_help.h"

#define DUMP_MAX	1024
#define TIMEOUT		60	/* seconds; what is not linear takes longer */

/* 0 or the errno; the tape is checked and dropped. */
static int
try(const char *text, size_t len)
{
	struct json	 j;
	char		*copy = json_copy(text, len);
	int		 error;

	json_init(&j);
	errno = 0;
	error = json_parse(&j, copy, len) == -1 ? errno : 0;
	if (error != 0)
		ck_assert_uint_eq(j.ntoks, 0);
	else
		ck_assert_uint_eq(json_tok(&j, 0)->next, j.ntoks);
	json_fini(&j);
	free(copy);
	return error;
}

static void PRINTF(2, 3)
say(char *out, const char *fmt, ...)
{
	const size_t	 len = strlen(out);
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(out + len, DUMP_MAX - len, fmt, ap);
	va_end(ap);
}

/*
 * Token i as text: strings as their bytes in hex between bars, so that the
 * writer is not needed to test the reader.
 */
static void
dump(const struct json *j, uint32_t i, char *out)
{
	const struct json_tok	*t = json_tok(j, i);
	uint32_t		 k;

	if (t->type < JSON_STRING)
		say(out, "%.*s", (int)t->len, json_text(j, i));
	if (t->type == JSON_STRING) {
		say(out, "|");
		for (k = 0; k < t->len; k++)
			say(out, "%02x", (unsigned char)json_text(j, i)[k]);
		say(out, "|");
	}
	if (t->type == JSON_ARRAY) {
		say(out, "[");
		for (k = json_first(i); json_more(j, i, k);
		    k = json_after_elem(j, k)) {
			dump(j, k, out);
			say(out, ",");
		}
		say(out, "]");
	}
	if (t->type == JSON_OBJECT) {
		say(out, "{");
		for (k = json_first(i); json_more(j, i, k);
		    k = json_after_member(j, k)) {
			dump(j, k, out);
			say(out, ":");
			dump(j, k + 1, out);
			say(out, ",");
		}
		say(out, "}");
	}
}

static const struct {
	const char	*text;
	size_t		 len;
	const char	*dump;
} good[] = {
	/* every type, alone */
	{ T("null"), "null" },
	{ T("true"), "true" },
	{ T("false"), "false" },
	{ T("\"\""), "||" },
	{ T("[]"), "[]" },
	{ T("{}"), "{}" },
	/* blanks: these four, anywhere between tokens */
	{ T(" \t\r\n1 \t\r\n"), "1" },
	{ T(" [ 1 , 2 ] "), "[1,2,]" },
	{ T("{\n\"a\"\t:\r1 , \"b\" : [ ] }"), "{|61|:1,|62|:[],}" },
	{ T("[ ]"), "[]" },
	{ T("{ }"), "{}" },
	/* numbers as text */
	{ T("0"), "0" },
	{ T("-0"), "-0" },
	{ T("10"), "10" },
	{ T("9223372036854775807"), "9223372036854775807" },
	{ T("18446744073709551615"), "18446744073709551615" },
	{ T("1.0"), "1.0" },
	{ T("1e3"), "1e3" },
	{ T("1E+3"), "1E+3" },
	{ T("-0.0e-0"), "-0.0e-0" },
	{ T("0e00"), "0e00" },
	{ T("[1e999,-1e999]"), "[1e999,-1e999,]" },
	/* nesting */
	{ T("[[],{},[[]]]"), "[[],{},[[],],]" },
	{ T("{\"a\":{\"a\":{\"a\":[{}]}}}"), "{|61|:{|61|:{|61|:[{},],},},}" },
	{ T("[1,[2,3],4]"), "[1,[2,3,],4,]" },
	/* strings */
	{ T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "|225c2f080c0a0d09|" },
	{ T("\"a\\nb\\nc\""), "|610a620a63|" },
	{ T("\"\\u0000\""), "|00|" },
	{ T("\"a\\u0000b\""), "|610062|" },
	{ T("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\""),
	    "|7fc280dfbfe0a080efbfbf|" },
	{ T("\"\\ud7ff\\ue000\\uFEFF\""), "|ed9fbfee8080efbbbf|" },
	{ T("\"\\ud800\\udc00\\uDBFF\\uDFFF\""), "|f0908080f48fbfbf|" },
	{ T("\"\\ud83d\\ude00\xf0\x9f\x98\x80\""), "|f09f9880f09f9880|" },
	{ T("\"\x7f\xc3\xa9\""), "|7fc3a9|" },
	{ T("\"/ '\""), "|2f2027|" },
	{ T("{\"\":0}"), "{||:0,}" },
	{ T("{\"\\u0061\\n\":\"\\t\"}"), "{|610a|:|09|,}" },
	/* not the same key */
	{ T("{\"a\":1,\"A\":1,\"aa\":1,\"\":1}"),
	    "{|61|:1,|41|:1,|6161|:1,||:1,}" },
	{ T("{\"a\":1,\"a\\u0000\":2}"), "{|61|:1,|6100|:2,}" },
	{ T("{\"\xc3\xa9\":1,\"e\xcc\x81\":2}"), "{|c3a9|:1,|65cc81|:2,}" },
	{ T("{\"a\":{\"a\":1},\"b\":{\"a\":1}}"),
	    "{|61|:{|61|:1,},|62|:{|61|:1,},}" },
	{ T("[{\"a\":1},{\"a\":1}]"), "[{|61|:1,},{|61|:1,},]" },
	{ T("{\"a\":\"b\",\"b\":\"a\"}"), "{|61|:|62|,|62|:|61|,}" },
};

START_TEST(test_good)
{
	struct json	 j;
	char		 out[DUMP_MAX] = "";
	char		*copy = json_copy(good[_i].text, good[_i].len);

	json_init(&j);
	ck_assert_int_eq(json_parse(&j, copy, good[_i].len), 0);
	dump(&j, 0, out);
	ck_assert_str_eq(out, good[_i].dump);
	json_fini(&j);
	free(copy);
}
END_TEST

static const struct {
	const char	*text;
	size_t		 len;
} bad[] = {
	/* nothing, or too much */
	{ T("") },
	{ T(" ") },
	{ T("\n\t\r ") },
	{ T("1 2") },
	{ T("{}{}") },
	{ T("{},") },
	{ T("[]]") },
	{ T("{}}") },
	{ T("null\0") },
	{ T("\0") },
	{ T("\"a\"b") },
	{ T("\"a\"\"b\"") },
	/* blanks that JSON does not know */
	{ T("\v1") },
	{ T("\f1") },
	{ T("\xc2\xa0" "1") },
	{ T("\xe2\x80\xa8" "1") },
	{ T("\xef\xbb\xbf{}") },		/* byte order mark */
	{ T("{}\xef\xbb\xbf") },
	{ T("[1]//c") },
	{ T("/**/1") },
	/* words */
	{ T("nul") },
	{ T("nulll") },
	{ T("Null") },
	{ T("TRUE") },
	{ T("tru e") },
	{ T("undefined") },
	{ T("NaN") },
	{ T("-NaN") },
	{ T("nan") },
	{ T("Infinity") },
	{ T("-Infinity") },
	{ T("[1,NaN]") },
	/* numbers */
	{ T("01") },
	{ T("00") },
	{ T("-01") },
	{ T("1.") },
	{ T("1.e3") },
	{ T(".5") },
	{ T("-.5") },
	{ T("-") },
	{ T("--1") },
	{ T("+1") },
	{ T("- 1") },
	{ T("1 .5") },
	{ T("1e") },
	{ T("1e+") },
	{ T("1e-") },
	{ T("1e+-1") },
	{ T("1e1.5") },
	{ T("1.5.5") },
	{ T("0x1") },
	{ T("0x") },
	{ T("1_000") },
	{ T("1a") },
	{ T("1,") },
	{ T("\xd9\xa1") },			/* a digit, not ours */
	/* arrays */
	{ T("[") },
	{ T("]") },
	{ T("[,]") },
	{ T("[1,]") },
	{ T("[,1]") },
	{ T("[1,,2]") },
	{ T("[1 2]") },
	{ T("[1:2]") },
	{ T("[1}") },
	{ T("[\"a\":1]") },
	{ T("[[1]") },
	{ T("[1]]") },
	{ T("[1;2]") },
	/* objects */
	{ T("{") },
	{ T("}") },
	{ T("{]") },
	{ T("{,}") },
	{ T("{\"a\"}") },
	{ T("{\"a\":}") },
	{ T("{\"a\":1,}") },
	{ T("{,\"a\":1}") },
	{ T("{\"a\":1,,\"b\":2}") },
	{ T("{\"a\" 1}") },
	{ T("{\"a\"::1}") },
	{ T("{\"a\":1 \"b\":2}") },
	{ T("{\"a\":1:2}") },
	{ T("{\"a\":1]") },
	{ T("{\"a\",1}") },
	{ T("{a:1}") },
	{ T("{'a':1}") },
	{ T("{1:1}") },
	{ T("{null:1}") },
	{ T("{[]:1}") },
	{ T("{{}:1}") },
	{ T("{1}") },
	/* strings */
	{ T("\"") },
	{ T("\"a") },
	{ T("'a'") },
	{ T("\"a\nb\"") },
	{ T("\"a\tb\"") },
	{ T("\"a\0b\"") },
	{ T("\"\x1f\"") },
	{ T("\"\\n\x01\"") },
	{ T("{\"\n\":1}") },
	{ T("\"\\\"") },
	{ T("\"\\") },
	{ T("\"\\a\"") },
	{ T("\"\\a") },
	{ T("[\"\\a]") },
	{ T("{\"\\a:1}") },
	{ T("[\"\\ud800\\u0041]") },
	{ T("\"\\v\"") },
	{ T("\"\\0\"") },
	{ T("\"\\'\"") },
	{ T("\"\\x41\"") },
	{ T("\"\\U0041\"") },
	{ T("\"\\\n\"") },
	{ T("\"\\\0\"") },
	{ T("\"\\\xc3\xa9\"") },
	{ T("\"\\u\"") },
	{ T("\"\\u1\"") },
	{ T("\"\\u12\"") },
	{ T("\"\\u123\"") },
	{ T("\"\\u123g\"") },
	{ T("\"\\u 123\"") },
	{ T("\"\\u+123\"") },
	{ T("\"\\u-123\"") },
	{ T("\"\\u0x1f\"") },
	{ T("\"\\u123@\"") },
	{ T("\"\\u123`\"") },
	{ T("\"\\u12\x10\x11\"") },		/* '0' and '1' without 0x20 */
	{ T("\"\\u00\xc1\xc1\"") },
	{ T("\"\\u\0\0\0\0\"") },
	/* surrogates without the other one */
	{ T("\"\\ud800\"") },
	{ T("\"\\udbff\"") },
	{ T("\"\\udc00\"") },
	{ T("\"\\udfff\"") },
	{ T("\"\\ud800x\"") },
	{ T("\"\\ud800\\n\"") },
	{ T("\"\\ud800\\ud800\"") },
	{ T("\"\\ud800\\ud800\\udc00\"") },
	{ T("\"\\udc00\\ud800\"") },
	{ T("\"\\ud800\\u0041\"") },
	{ T("\"\\ud800\\udbff\"") },
	{ T("\"\\ud800\\ue000\"") },
	{ T("\"\\ud800\\\\udc00\"") },
	{ T("\"\\ud800\\udc0\"") },
	{ T("\"\\ud800\\u\"") },
	{ T("\"\\ud800\\\"") },
	{ T("\"\\ud800 \\udc00\"") },
	{ T("{\"\\ud800\":1}") },
	/* keys given twice */
	{ T("{\"a\":1,\"a\":1}") },
	{ T("{\"\":1,\"\":1}") },
	{ T("{\"a\":1,\"b\":2,\"c\":3,\"b\":4}") },
	{ T("{\"a\":1,\"\\u0061\":2}") },
	{ T("{\"\\n\":1,\"\\u000A\":2}") },
	{ T("{\"\\u0000\":1,\"\\u0000\":2}") },
	{ T("{\"/\":1,\"\\/\":2}") },
	{ T("{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\uDE00\":2}") },
	{ T("[0,[{\"x\":{\"y\":[{\"a\":1,\"b\":2,\"a\":3}]}}]]") },
	{ T("{\"a\":{\"a\":1,\"b\":{}},\"b\":1,\"a\":2}") },
	{ T("{\"a\":[],\"a\":[]}") },
};

START_TEST(test_bad)
{
	ck_assert_int_eq(try(bad[_i].text, bad[_i].len), EINVAL);
}
END_TEST

static const char whole[] =
    " { \"id\" : -12.5e+3 , \"method\":\"a\\u00e9\\ud83d\\ude00\\\\b\\n\", "
    "\"params\":{\"a\":[1,true,[],{}, false,null ,\"\"],"
    "\"a long key, longer than sixteen bytes\":{\"\\\"\":0},\"chunk\":"
    "\"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5"
    "ejAxMjM0NTY3ODk=\"}}";

START_TEST(test_cut_anywhere)
{
	size_t	 len;

	for (len = 0; len < sizeof(whole) - 1; len++)
		ck_assert_int_eq(try(whole, len), EINVAL);
	ck_assert_int_eq(try(whole, len), 0);
}
END_TEST

/* What must be refused wherever it stands in a string, and what not. */
START_TEST(test_every_byte_everywhere)
{
	char		 text[256];
	size_t		 len, at;
	int		 c, want;

	for (c = 0; c < 0x80; c++) {
		want = c < 0x20 || c == '"' || c == '\\' ? EINVAL : 0;
		for (len = 1; len < 150; len += len < 40 ? 1 : 13) {
			for (at = 0; at < len; at++) {
				memset(text, 'x', sizeof(text));
				text[0] = text[len + 1] = '"';
				text[at + 1] = (char)c;
				ck_assert_int_eq(try(text, len + 2), want);
			}
		}
	}
}
END_TEST

/* An escape at every place, and a second one at every distance. */
START_TEST(test_escape_everywhere)
{
	struct json	 j;
	char		 text[256], want[256];
	size_t		 a, b, n;

	json_init(&j);
	for (a = 0; a < 70; a++) {
		for (b = 0; b < 70; b++) {
			memset(text, 'x', sizeof(text));
			memset(want, 'x', sizeof(want));
			n = a + b + 20;
			text[0] = text[n + 8] = '"';
			memcpy(text + 1 + a, "\\t", 2);
			memcpy(text + 3 + a + b, "\\u0041", 6);
			want[a] = '\t';
			want[a + 1 + b] = 'A';
			ck_assert_int_eq(json_parse(&j, text, n + 9), 0);
			ck_assert_uint_eq(json_tok(&j, 0)->len, n + 1);
			ck_assert_mem_eq(json_text(&j, 0), want, n + 1);
		}
	}
	json_fini(&j);
}
END_TEST

/* Every BMP code point, by escape, in both cases of hex. */
START_TEST(test_every_escape)
{
	struct json	 j;
	char		 text[16], want[4];
	uint32_t	 u;
	int		 n;

	json_init(&j);
	for (u = 0; u < 0x10000; u++) {
		n = snprintf(text, sizeof(text), u & 1 ? "\"\\u%04x\"" :
		    "\"\\u%04X\"", u);
		if (u >= 0xd800 && u <= 0xdfff) {
			ck_assert_int_eq(try(text, (size_t)n), EINVAL);
			continue;
		}
		ck_assert_int_eq(json_parse(&j, text, (size_t)n), 0);
		n = 0;
		if (u < 0x80) {
			want[n++] = (char)u;
		} else if (u < 0x800) {
			want[n++] = (char)(0xc0 + u / 64);
			want[n++] = (char)(0x80 + u % 64);
		} else {
			want[n++] = (char)(0xe0 + u / 4096);
			want[n++] = (char)(0x80 + u / 64 % 64);
			want[n++] = (char)(0x80 + u % 64);
		}
		ck_assert_uint_eq(json_tok(&j, 0)->len, (uint32_t)n);
		ck_assert_mem_eq(json_text(&j, 0), want, (size_t)n);
	}
	json_fini(&j);
}
END_TEST

/*
 * Limits
 */

/* depth brackets, objects and arrays in turn when mixed. */
static int
try_depth(size_t depth, bool mixed, const char *inner)
{
	char	*text, *p;
	size_t	 i;
	int	 error;

	text = p = malloc(depth * 6 + strlen(inner) + 1);
	ck_assert_ptr_nonnull(text);
	for (i = 0; i < depth; i++)
		p = stpcpy(p, mixed && i % 2 == 1 ? "{\"a\":" : "[");
	p = stpcpy(p, inner);
	while (i-- > 0)
		*p++ = mixed && i % 2 == 1 ? '}' : ']';
	error = try(text, (size_t)(p - text));
	free(text);
	return error;
}

START_TEST(test_depth)
{
	ck_assert_int_eq(JSON_DEPTH_MAX, 127);
	ck_assert_int_eq(try_depth(127, false, ""), 0);
	ck_assert_int_eq(try_depth(127, false, "1"), 0);
	ck_assert_int_eq(try_depth(127, true, "\"s\""), 0);
	ck_assert_int_eq(try_depth(128, false, ""), E2BIG);
	ck_assert_int_eq(try_depth(128, true, "1"), E2BIG);
	ck_assert_int_eq(try_depth(126, false, "[],[],{\"a\":1},{}"), 0);
	ck_assert_int_eq(try_depth(127, false, "1,[]"), E2BIG);
	ck_assert_int_eq(try_depth(127, false, "{}"), E2BIG);
	ck_assert_int_eq(try_depth(100000, false, ""), E2BIG);
	ck_assert_int_eq(try_depth(100000, true, ""), E2BIG);
}
END_TEST

/* An array (or object) of n values besides itself. */
static char *
many(size_t n, bool object, size_t *len_out)
{
	char	*text, *p;
	size_t	 i;

	p = text = malloc(n * 16 + 2);
	ck_assert_ptr_nonnull(text);
	*p++ = object ? '{' : '[';
	for (i = 0; i < n; i++) {
		if (i > 0)
			*p++ = ',';
		if (object)
			p += sprintf(p, "\"k%zu\":", i);
		*p++ = '7';
	}
	*p++ = object ? '}' : ']';
	*len_out = (size_t)(p - text);
	return text;
}

START_TEST(test_values)
{
	char	*text;
	size_t	 len;
	bool	 object = _i == 1;

	text = many(JSON_VALUES_MAX - 1, object, &len);
	ck_assert_int_eq(try(text, len), 0);
	free(text);
	text = many(JSON_VALUES_MAX, object, &len);
	ck_assert_int_eq(try(text, len), E2BIG);
	free(text);
}
END_TEST

/* Arrays and objects count as values too. */
START_TEST(test_values_are_all_values)
{
	const size_t	 n = JSON_VALUES_MAX / 2;
	char		*text, *p;
	size_t		 i;
	int		 extra;

	text = malloc(n * 5 + 8);
	ck_assert_ptr_nonnull(text);
	for (extra = 0; extra < 2; extra++) {
		p = stpcpy(text, "[");
		for (i = 0; i < n - 1; i++)
			p = stpcpy(p, i % 2 == 0 ? "[0]," : "[{}],");
		p = stpcpy(p, extra ? "0,0]" : "0]");
		ck_assert_int_eq(try(text, (size_t)(p - text)),
		    extra ? E2BIG : 0);
	}
	free(text);
}
END_TEST

START_TEST(test_too_long)
{
	struct json	 j;
	char		 text[] = "1";

	json_init(&j);
	errno = 0;
	ck_assert_int_eq(json_parse(&j, text, (size_t)1 << 31), -1);
	ck_assert_int_eq(errno, E2BIG);
	ck_assert_int_eq(json_parse(&j, NULL, 0), -1);
	ck_assert_int_eq(errno, EINVAL);
	json_fini(&j);
}
END_TEST

/* n members, member twin with the key of member 0 (none when it is 0). */
static int
try_keys(size_t n, size_t twin, const char *fmt)
{
	char	*text, *p;
	size_t	 i;
	int	 error;

	p = text = malloc(n * 64 + 3);
	ck_assert_ptr_nonnull(text);
	p = stpcpy(p, "{");
	for (i = 0; i < n; i++) {
		p = stpcpy(p, i > 0 ? ",\"" : "\"");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		p += sprintf(p, fmt, i == twin ? (size_t)0 : i);
#pragma GCC diagnostic pop
		p = stpcpy(p, "\":0");
	}
	p = stpcpy(p, "}");
	error = try(text, (size_t)(p - text));
	free(text);
	return error;
}

/* Around where the way of looking changes, and far beyond. */
START_TEST(test_many_keys)
{
	static const char *const	 fmts[] = {
		"%zu", "a key that is the same for long %010zu",
		"\\u0061\\n%zu", "%08zu\\u0000tail"
	};
	size_t				 n, twin, f;

	for (f = 0; f < sizeof(fmts) / sizeof(fmts[0]); f++) {
		for (n = 2; n < 70; n++) {
			ck_assert_int_eq(try_keys(n, 0, fmts[f]), 0);
			for (twin = 1; twin < n; twin++)
				ck_assert_int_eq(try_keys(n, twin, fmts[f]),
				    EINVAL);
		}
		ck_assert_int_eq(try_keys(200000, 0, fmts[f]), 0);
		ck_assert_int_eq(try_keys(200000, 199999, fmts[f]), EINVAL);
	}
}
END_TEST

/* One large object behind the other, larger and smaller: the set is reused. */
START_TEST(test_large_objects_in_turn)
{
	static const int	 sizes[] = { 17, 40, 20, 3, 900, 33, 17, 901 };
	char			 text[65536], *p = text;
	size_t			 i;
	int			 k;

	p = stpcpy(p, "[");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p = stpcpy(p, i > 0 ? ",{" : "{");
		for (k = 0; k < sizes[i]; k++)
			p += sprintf(p, "%s\"k%d\":%d", k > 0 ? "," : "", k, k);
		p = stpcpy(p, "}");
	}
	p = stpcpy(p, "]");
	ck_assert_int_eq(try(text, (size_t)(p - text)), 0);
	p += sprintf(p - 2, ",\"k17\":{}}]") - 2;
	ck_assert_int_eq(try(text, (size_t)(p - text)), EINVAL);
}
END_TEST

/*
 * Large objects in large objects: each closes while the ones around it are
 * still open.
 */
START_TEST(test_large_objects_nested)
{
	char	*text, *p;
	int	 depth, k;

	p = text = malloc(1 << 20);
	ck_assert_ptr_nonnull(text);
	for (depth = 0; depth < JSON_DEPTH_MAX; depth++) {
		p = stpcpy(p, "{");
		for (k = 0; k < 30; k++)
			p += sprintf(p, "\"%d\":\"\\t\",", k);
		p = stpcpy(p, "\"in\":");
	}
	p = stpcpy(p, "0");
	for (depth = 0; depth < JSON_DEPTH_MAX; depth++)
		p += sprintf(p, ",\"out\":%d}", depth);
	ck_assert_int_eq(try(text, (size_t)(p - text)), 0);
	p += sprintf(p - 1, ",\"29\":0}") - 1;
	ck_assert_int_eq(try(text, (size_t)(p - text)), EINVAL);
	free(text);
}
END_TEST

/*
 * Tokens
 */

START_TEST(test_integers)
{
	static const struct {
		const char	*text;
		int		 i_error, u_error;
		int64_t		 i;
		uint64_t	 u;
	} rows[] = {
		{ "0", 0, 0, 0, 0 },
		{ "-0", 0, 0, 0, 0 },
		{ "7", 0, 0, 7, 7 },
		{ "-1", 0, ERANGE, -1, 0 },
		{ "9007199254740993", 0, 0, 9007199254740993,
		    9007199254740993 },
		{ "9223372036854775807", 0, 0, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", ERANGE, 0, 0, (uint64_t)1 << 63 },
		{ "-9223372036854775807", 0, ERANGE, -INT64_MAX, 0 },
		{ "-9223372036854775808", 0, ERANGE, INT64_MIN, 0 },
		{ "-9223372036854775809", ERANGE, ERANGE, 0, 0 },
		{ "18446744073709551615", ERANGE, 0, 0, UINT64_MAX },
		{ "18446744073709551616", ERANGE, ERANGE, 0, 0 },
		{ "18446744073709551620", ERANGE, ERANGE, 0, 0 },
		{ "-18446744073709551616", ERANGE, ERANGE, 0, 0 },
		{ "100000000000000000000000", ERANGE, ERANGE, 0, 0 },
		{ "1.0", EINVAL, EINVAL, 0, 0 },
		{ "1.5", EINVAL, EINVAL, 0, 0 },
		{ "1e3", EINVAL, EINVAL, 0, 0 },
		{ "-0.0", EINVAL, EINVAL, 0, 0 },
		{ "1E0", EINVAL, EINVAL, 0, 0 },
		{ "100000000000000000000000.0", EINVAL, EINVAL, 0, 0 },
		{ "100000000000000000000000e1", EINVAL, EINVAL, 0, 0 },
		{ "\"1\"", EINVAL, EINVAL, 0, 0 },
		{ "\"\"", EINVAL, EINVAL, 0, 0 },
		{ "null", EINVAL, EINVAL, 0, 0 },
		{ "true", EINVAL, EINVAL, 0, 0 },
		{ "[1]", EINVAL, EINVAL, 0, 0 },
		{ "{}", EINVAL, EINVAL, 0, 0 },
	};
	struct json	 j;
	char		*copy;
	int64_t		 n;
	uint64_t	 u;
	size_t		 i, len;

	json_init(&j);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		len = strlen(rows[i].text);
		copy = json_copy(rows[i].text, len);
		ck_assert_int_eq(json_parse(&j, copy, len), 0);
		n = 4711;
		u = 4711;
		errno = 0;
		ck_assert_int_eq(json_i64(&j, 0, &n), rows[i].i_error ? -1 : 0);
		ck_assert_int_eq(errno, rows[i].i_error);
		ck_assert_int_eq(n, rows[i].i_error ? 4711 : rows[i].i);
		errno = 0;
		ck_assert_int_eq(json_u64(&j, 0, &u), rows[i].u_error ? -1 : 0);
		ck_assert_int_eq(errno, rows[i].u_error);
		ck_assert_uint_eq(u, rows[i].u_error ? 4711 : rows[i].u);
		free(copy);
	}
	json_fini(&j);
}
END_TEST

START_TEST(test_find)
{
	struct json	 j;
	char		 text[] = "{\"a\":1,\"ab\":{\"a\":[2,3]},\"\":4,"
			    "\"n\\u0000\":5,\"\\u0061b\\u0063\":null,"
			    "\"v\":\"a\"}";
	char		 copy[2];
	uint32_t	 ab;

	json_init(&j);
	ck_assert_int_eq(json_parse(&j, text, sizeof(text) - 1), 0);
	ck_assert_uint_eq(json_find(&j, 0, "a"), 2);
	ab = json_find(&j, 0, "ab");
	ck_assert_uint_eq(json_tok(&j, ab)->type, JSON_OBJECT);
	ck_assert_uint_eq(json_find(&j, ab, "a"), ab + 2);
	ck_assert_uint_eq(json_find(&j, ab, "ab"), 0);
	ck_assert_int_eq(*json_text(&j, json_find(&j, 0, "")), '4');
	ck_assert_uint_eq(json_find(&j, 0, "n"), 0);
	ck_assert_uint_eq(json_find(&j, 0, "b"), 0);
	ck_assert_uint_eq(json_find(&j, 0, "v "), 0);
	ck_assert_uint_eq(json_tok(&j, json_find(&j, 0, "abc"))->type,
	    JSON_NULL);
	ck_assert(json_is_text(&j, json_find(&j, 0, "v"), "a"));
	ck_assert(!json_is_text(&j, json_find(&j, 0, "v"), "ab"));
	ck_assert(!json_is_text(&j, json_find(&j, 0, "v"), ""));
	ck_assert(!json_is_text(&j, json_find(&j, 0, "a"), "1"));
	ck_assert(json_copy_text(&j, json_find(&j, 0, "v"), copy,
	    sizeof(copy)));
	ck_assert_str_eq(copy, "a");
	ck_assert(!json_copy_text(&j, json_find(&j, 0, "a"), copy,
	    sizeof(copy)));
	ck_assert_str_eq(copy, "");
	ck_assert(!json_copy_text(&j, json_find(&j, 0, "nothing"), copy,
	    sizeof(copy)));
	/* not in objects */
	ck_assert_uint_eq(json_find(&j, ab + 2, "a"), 0);
	ck_assert_uint_eq(json_find(&j, json_find(&j, 0, "v"), "a"), 0);
	json_fini(&j);
}
END_TEST

/* Where the tokens are and what is behind them. */
START_TEST(test_tape)
{
	static const struct json_tok	 want[] = {
		{ 1, 27, 8, JSON_OBJECT },
		{ 3, 1, 2, JSON_STRING },
		{ 7, 9, 5, JSON_ARRAY },
		{ 8, 2, 4, JSON_NUMBER },
		{ 12, 3, 5, JSON_OBJECT },
		{ 18, 2, 6, JSON_STRING },	/* four bytes in the text */
		{ 24, 3, 8, JSON_ARRAY },
		{ 25, 1, 8, JSON_NUMBER },
	};
	struct json	 j;
	char		 text[] = " {\"a\" :[-1, { }],\"\\nb\" :[0]} ";
	size_t		 i;

	json_init(&j);
	ck_assert_int_eq(json_parse(&j, text, sizeof(text) - 1), 0);
	ck_assert_uint_eq(j.ntoks, sizeof(want) / sizeof(want[0]));
	for (i = 0; i < j.ntoks; i++) {
		ck_assert_uint_eq(j.toks[i].pos, want[i].pos);
		ck_assert_uint_eq(j.toks[i].len, want[i].len);
		ck_assert_uint_eq(j.toks[i].next, want[i].next);
		ck_assert_uint_eq(j.toks[i].type, want[i].type);
	}
	json_fini(&j);
}
END_TEST

/* The tape stays from message to message, grows, and goes when asked. */
START_TEST(test_reuse)
{
	struct json	 j;
	char		 small[] = "[1]", broken[] = "[1", *large;
	size_t		 len;

	json_init(&j);
	json_trim(&j);
	ck_assert_int_eq(json_parse(&j, small, 3), 0);
	ck_assert_uint_le(j.cap, 80);
	json_trim(&j);
	ck_assert_ptr_nonnull(j.toks);
	large = many(5000, false, &len);
	ck_assert_int_eq(json_parse(&j, large, len), 0);
	ck_assert_uint_eq(j.ntoks, 5001);
	ck_assert_int_eq(json_parse(&j, broken, 2), -1);
	ck_assert_uint_eq(j.ntoks, 0);
	ck_assert_uint_gt(j.cap, 5000);
	ck_assert_int_eq(json_parse(&j, small, 3), 0);
	ck_assert_uint_eq(j.ntoks, 2);
	json_trim(&j);
	ck_assert_uint_eq(j.cap, 0);
	ck_assert_ptr_null(j.toks);
	ck_assert_int_eq(json_parse(&j, small, 3), 0);
	json_fini(&j);
	json_fini(&j);
	free(large);
}
END_TEST

/* Pieces of every size stay whole and aligned until the next text. */
START_TEST(test_alloc)
{
	struct json	 j;
	char		 text[] = "[1]";
	unsigned char	*p[3000];
	size_t		 n, k;

	json_init(&j);
	ck_assert_int_eq(json_parse(&j, text, 3), 0);
	for (n = 1; n < 3000; n++) {
		ck_assert_ptr_nonnull(p[n] = json_alloc(&j, n, 1));
		ck_assert_uint_eq((uintptr_t)p[n] % alignof(max_align_t), 0);
		memset(p[n], (int)(n & 0xff), n);
	}
	for (n = 1; n < 3000; n++)
		for (k = 0; k < n; k++)
			if (p[n][k] != (n & 0xff))
				ck_abort_msg("byte %zu of %zu", k, n);
	errno = 0;
	ck_assert_ptr_null(json_alloc(&j, SIZE_MAX / 4, 8));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_ptr_null(json_alloc(&j, SIZE_MAX, 1));
	ck_assert_int_eq(json_parse(&j, text, 3), 0);
	ck_assert_ptr_nonnull(json_alloc(&j, 7, 8));
	json_trim(&j);
	ck_assert_ptr_nonnull(json_alloc(&j, 7, 8));
	json_fini(&j);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("json");
	TCase	*tc = tcase_create("reader");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, TIMEOUT);
	tcase_add_loop_test(tc, test_good, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tc, test_bad, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tc, test_cut_anywhere);
	tcase_add_test(tc, test_every_byte_everywhere);
	tcase_add_test(tc, test_escape_everywhere);
	tcase_add_test(tc, test_every_escape);
	tcase_add_test(tc, test_depth);
	tcase_add_loop_test(tc, test_values, 0, 2);
	tcase_add_test(tc, test_values_are_all_values);
	tcase_add_test(tc, test_too_long);
	tcase_add_test(tc, test_many_keys);
	tcase_add_test(tc, test_large_objects_in_turn);
	tcase_add_test(tc, test_large_objects_nested);
	tcase_add_test(tc, test_integers);
	tcase_add_test(tc, test_find);
	tcase_add_test(tc, test_tape);
	tcase_add_test(tc, test_reuse);
	tcase_add_test(tc, test_alloc);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
