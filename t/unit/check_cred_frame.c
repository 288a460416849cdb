/* master/remote/cred.c: credentials as JSON, and where they may be shown. */
#include <check.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "master/remote/cred.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

static struct cred	 c;
static char		 why[128];

static void
setup(void)
{
	ck_assert_int_ge(sodium_init(), 0);
	memset(&c, 0, sizeof(c));
}

static void
teardown(void)
{
	cred_fini(&c);
}

static void
ck_why(const char *part)
{
	ck_assert_ptr_nonnull(memchr(why, '\0', sizeof(why)));
	ck_assert_msg(strstr(why, part) != NULL, "\"%s\", not \"%s\"", why,
	    part);
}

/* --- frames ----------------------------------------------------------------*/

#define V	"\"version\":1"
#define E	"\"environment_id\":\"env\""
#define K	"\"token\":\"tok\""
#define X	"\"expires_at\":4102444800"	/* in 2100 */

static int
frame(const char *text, size_t len)
{
	char	*line = malloc(len + 1);
	int	 r;

	ck_assert_ptr_nonnull(line);
	memcpy(line, text, len);
	/* Not a byte behind it is looked at, or written to. */
	line[len] = '#';
	memset(why, 'x', sizeof(why));
	r = cred_take_frame(&c, line, len, "env", why, sizeof(why));
	ck_assert(sodium_is_zero((unsigned char *)line, len));
	ck_assert_int_eq(line[len], '#');
	free(line);
	return r;
}

START_TEST(test_frame)
{
	static const char *const	 good[] = {
		"{" V "," E "," K "," X "}",
		" { " X " , " K " , " V ",\t" E " } \r",
		"{\"t\\u006fken\":\"t\\u006f\\u006B\"," V "," E "," X "}",
		"{" V "," E "," K ",\"expires_at\":9223372036854775807}",
	};
	int				 i;

	for (i = 0; i < N(good); i++) {
		ck_assert_msg(frame(good[i], strlen(good[i])) == 0, "%s: %s",
		    good[i], why);
		ck_assert_str_eq(c.token, "tok");
		ck_assert_int_eq((int)c.source, (int)CRED_FRAMES);
		ck_assert_uint_eq(c.expires, i < 3 ? 4102444800 :
		    INT64_MAX);
		ck_assert(cred_is_good(&c));
		cred_fini(&c);
	}
}
END_TEST

static const struct {
	const char	*text, *why;
} bad_frames[] = {
	/* one is missing */
	{ "{" E "," K "," X "}", "invalid frame" },
	{ "{" V "," K "," X "}", "invalid frame" },
	{ "{" V "," E "," X "}", "invalid frame" },
	{ "{" V "," E "," K "}", "invalid frame" },
	{ "{}", "invalid frame" },
	/* one too many, or twice */
	{ "{" V "," E "," K "," X ",\"x\":null}", "invalid frame" },
	{ "{" V "," E "," K "," X ",\"\":1}", "invalid frame" },
	{ "{" V "," E "," K "," X ",\"Token\":\"t\"}", "invalid frame" },
	{ "{" V "," E "," K "," X ",\"token\\u0000\":\"t\"}",
	    "invalid frame" },
	{ "{" V "," E "," K "," X "," K "}", "invalid frame" },
	{ "{" V "," E "," K "," X "," X "}", "invalid frame" },
	{ "{\"x\":{" V "," E "," K "," X "}}", "invalid frame" },
	/* version */
	{ "{\"version\":0," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":2," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":-1," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":1.0," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":1e0," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":18446744073709551617," E "," K "," X "}",
	    "invalid frame" },
	{ "{\"version\":\"1\"," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":true," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":null," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":[1]," E "," K "," X "}", "invalid frame" },
	{ "{\"version\":{}," E "," K "," X "}", "invalid frame" },
	/* environment_id */
	{ "{\"environment_id\":1," V "," K "," X "}", "invalid frame" },
	{ "{\"environment_id\":null," V "," K "," X "}", "invalid frame" },
	{ "{\"environment_id\":[\"env\"]," V "," K "," X "}",
	    "invalid frame" },
	{ "{\"environment_id\":{}," V "," K "," X "}", "invalid frame" },
	{ "{\"environment_id\":\"Env\"," V "," K "," X "}",
	    "another environment" },
	{ "{\"environment_id\":\"\"," V "," K "," X "}",
	    "another environment" },
	{ "{\"environment_id\":\"env \"," V "," K "," X "}",
	    "another environment" },
	{ "{\"environment_id\":\"env\\u0000\"," V "," K "," X "}",
	    "another environment" },
	/* token */
	{ "{\"token\":null," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":7," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":[\"tok\"]," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":{}," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":true," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":\"\"," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":\"a b\"," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":\"a\\r\\nX: y\"," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":\"a\\u0000\"," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":\"\\u00e4\"," V "," E "," X "}", "invalid frame" },
	{ "{\"token\":\"\\u007f\"," V "," E "," X "}", "invalid frame" },
	/* expires_at */
	{ "{" V "," E "," K ",\"expires_at\":\"4102444800\"}",
	    "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":null}", "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":4102444800.5}",
	    "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":41e8}", "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":-1}", "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":[]}", "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":{}}", "invalid frame" },
	/* no time that the system knows: a timer for it would be in the past */
	{ "{" V "," E "," K ",\"expires_at\":9223372036854775808}",
	    "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":18446744073709551615}",
	    "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":18446744073709551616}",
	    "invalid frame" },
	{ "{" V "," E "," K ",\"expires_at\":0}", "expired" },
	{ "{" V "," E "," K ",\"expires_at\":1}", "expired" },
	/* no object, or no JSON */
	{ "", "invalid frame" }, { " ", "invalid frame" },
	{ "tok", "invalid frame" }, { "null", "invalid frame" },
	{ "1", "invalid frame" }, { "\"token\"", "invalid frame" },
	{ "[]", "invalid frame" },
	{ "[{" V "," E "," K "," X "}]", "invalid frame" },
	{ "[\"version\",1,\"environment_id\",\"env\",\"token\",\"tok\","
	    "\"expires_at\",4102444800]", "invalid frame" },
	{ "{" V "," E "," K "," X, "invalid frame" },
	{ "{" V "," E "," K "," X "}}", "invalid frame" },
	{ "{" V "," E "," K "," X "}{}", "invalid frame" },
	{ "{" V "," E "," K "," X ",}", "invalid frame" },
	{ "{\"token\":\"\xff\"," V "," E "," X "}", "invalid frame" },
	{ "\xef\xbb\xbf{" V "," E "," K "," X "}", "invalid frame" },
};

START_TEST(test_bad_frame)
{
	const char	*text = bad_frames[_i].text;

	ck_assert_int_eq(frame("{" V "," E ",\"token\":\"old\"," X "}",
	    sizeof("{" V "," E ",\"token\":\"old\"," X "}") - 1), 0);
	ck_assert_msg(frame(text, strlen(text)) == -1, "%s", text);
	ck_why(bad_frames[_i].why);
	ck_assert_ptr_null(strstr(why, "tok"));
	/* As it was. */
	ck_assert_str_eq(c.token, "old");
	ck_assert_uint_eq(c.expires, 4102444800);
}
END_TEST

/* Cut off anywhere, and with any byte in front or behind. */
START_TEST(test_frame_cut)
{
	static const char	 text[] = " {" V "," E "," K "," X "} ";
	char			 more[sizeof(text)];
	size_t			 len = sizeof(text) - 1, i;
	int			 b;

	for (i = 0; i < len - 1; i++)
		ck_assert_int_eq(frame(text, i), -1);
	ck_assert_int_eq(frame(text, i), 0);
	for (b = 0; b < 256; b++) {
		memcpy(more, text, sizeof(more));
		more[0] = (char)b;
		ck_assert_int_eq(frame(more, len) == 0, b == ' ' ||
		    b == '\t' || b == '\r' || b == '\n');
		more[0] = ' ';
		more[len - 1] = (char)b;
		ck_assert_int_eq(frame(more, len) == 0, b == ' ' ||
		    b == '\t' || b == '\r' || b == '\n');
	}
}
END_TEST

/* A later one replaces it, whether it lives longer or not. */
START_TEST(test_frame_again)
{
	char	 text[160];
	int	 n;

	ck_assert_int_eq(frame("{" V "," E "," K "," X "}",
	    sizeof("{" V "," E "," K "," X "}") - 1), 0);
	n = snprintf(text, sizeof(text), "{" V "," E ",\"token\":\"new\","
	    "\"expires_at\":%llu}", (unsigned long long)time(NULL) + 900);
	ck_assert_int_eq(frame(text, (size_t)n), 0);
	ck_assert_str_eq(c.token, "new");
	ck_assert_uint_lt(c.expires, 4102444800);
	/* This very second is too late. */
	n = snprintf(text, sizeof(text), "{" V "," E "," K
	    ",\"expires_at\":%llu}", (unsigned long long)time(NULL));
	ck_assert_int_eq(frame(text, (size_t)n), -1);
	ck_why("expired");
	ck_assert_str_eq(c.token, "new");
}
END_TEST

/* --- its use ---------------------------------------------------------------*/

START_TEST(test_good)
{
	char	 token[] = "t";

	ck_assert(!cred_is_good(&c));
	c.expires = UINT64_MAX;
	ck_assert(!cred_is_good(&c));
	c.token = token;
	ck_assert(cred_is_good(&c));
	c.expires = 0;
	ck_assert(cred_is_good(&c));
	c.expires = (uint64_t)time(NULL) + 900;
	ck_assert(cred_is_good(&c));
	c.expires = (uint64_t)time(NULL);
	ck_assert(!cred_is_good(&c));
	c.expires = 1;
	ck_assert(!cred_is_good(&c));
	c.token = NULL;
}
END_TEST

static const struct {
	const char	*url;
	bool		 is_safe;
} urls[] = {
	{ "https://h", true }, { "HTTPS://h/x", true },
	{ "http://localhost", true }, { "http://localhost/", true },
	{ "http://localhost/x@y", true }, { "http://localhost?x", true },
	{ "http://localhost:1", true }, { "http://localhost:65535/", true },
	{ "http://localhost:80?x", true }, { "HTTP://LocalHost:80", true },
	{ "http://127.0.0.1", true }, { "http://127.0.0.1:8080/x", true },
	{ "http://[::1]", true }, { "http://[::1]:8080/x", true },

	{ "", false }, { "http://", false }, { "http:", false },
	{ "localhost", false }, { "//localhost", false },
	{ "ws://localhost", false }, { "file://localhost/x", false },
	{ "https:/h", false }, { "https", false }, { " https://h", false },
	{ "http://h", false }, { "http://openai.com", false },
	{ "http://10.0.0.1", false }, { "http://0.0.0.0", false },
	{ "http://localhos", false }, { "http://localhostx", false },
	{ "http://localhost.evil.com", false },
	{ "http://localhost.", false }, { "http://x.localhost", false },
	{ "http://localhost-x", false }, { "http://localhost_", false },
	{ "http://127.0.0.1.evil.com", false }, { "http://127.0.0.11", false },
	{ "http://127.0.0.1x", false }, { "http://1127.0.0.1", false },
	{ "http://[::1].evil.com", false }, { "http://[::1]x", false },
	{ "http://[::11]", false }, { "http://::1", false },
	{ "http://[::1", false },
	/* a user is not the host */
	{ "http://127.0.0.1@evil", false }, { "http://localhost@evil", false },
	{ "http://[::1]@evil", false }, { "http://localhost:@evil", false },
	{ "http://localhost:80@evil", false },
	{ "http://localhost:x@evil/", false },
	{ "http://127.0.0.1:8080@evil/", false },
	{ "http://[::1]:80@evil", false }, { "http://localhost:80:90", false },
	{ "http://localhost:80.evil", false },
	{ "http://localhost:8080\\@evil", false },
	{ "http://evil@localhost", false }, { "http://evil/@localhost", false },
	{ "http://localhost#@evil", false }, { "http://localhost\\", false },
	{ "http://localhost%2eevil", false }, { "http://localhost ", false },
	{ "http://localhost\t", false }, { "http://localhost\n", false },
};

START_TEST(test_safe)
{
	ck_assert_msg(cred_is_safe(urls[_i].url) == urls[_i].is_safe, "%s",
	    urls[_i].url);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("cred_frame");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_frame);
	tcase_add_loop_test(tc, test_bad_frame, 0, N(bad_frames));
	tcase_add_test(tc, test_frame_cut);
	tcase_add_test(tc, test_frame_again);
	tcase_add_test(tc, test_good);
	tcase_add_loop_test(tc, test_safe, 0, N(urls));
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
