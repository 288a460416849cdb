/* What goes into HTTP requests, and what is read of answers. */
#include <check.h>
#include <curl/curl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/http/helper/http_fields.h"
#include "worker/http/helper/http_url.h"
#include "worker/http/http_check.h"

#define TEXT(s)	(s), sizeof(s) - 1

START_TEST(tokens)
{
	char	 name[2] = { 0, 0 };
	int	 c;

	ck_assert(http_is_token(TEXT("GET"), 3));
	ck_assert(!http_is_token(TEXT("GET"), 2));
	ck_assert(!http_is_token(TEXT(""), 2));
	ck_assert(!http_is_token(TEXT("A\0B"), 9));
	ck_assert(!http_is_token(TEXT("A B"), 9));
	ck_assert(!http_is_token(TEXT("A\r\nB"), 9));
	for (c = 0; c < 256; c++) {
		name[0] = (char)c;
		ck_assert_int_eq(http_is_token(name, 1, 1), c != 0 &&
		    strchr("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ", c) != NULL);
	}
}
END_TEST

START_TEST(values)
{
	char	 value[3] = "a?b";
	int	 c;

	ck_assert(http_is_value(TEXT("")));
	ck_assert(http_is_value(TEXT(" a\tb ")));
	ck_assert(!http_is_value(TEXT("x\r\nevil: 1")));
	for (c = 0; c < 256; c++) {
		value[1] = (char)c;
		ck_assert_int_eq(http_is_value(value, 3),
		    (c >= ' ' || c == '\t') && c != 0x7f);
	}
}
END_TEST

START_TEST(urls_to_look_at)
{
	char	*s = calloc(1, LIMIT_HTTP_LINE + 2);

	ck_assert(http_is_url(TEXT("http://x/ y")));
	ck_assert(!http_is_url(TEXT("")));
	ck_assert(!http_is_url(TEXT("http://x/\r\nHost: y")));
	ck_assert(!http_is_url(TEXT("http://x/\0")));
	ck_assert(!http_is_url(TEXT("http://x/\t")));
	memset(s, 'a', LIMIT_HTTP_LINE + 1);
	ck_assert(http_is_url(s, LIMIT_HTTP_LINE));
	ck_assert(!http_is_url(s, LIMIT_HTTP_LINE + 1));
	free(s);
}
END_TEST

static char *
var(const char *pair)
{
	return (char *)(uintptr_t)pair;
}

START_TEST(variables)
{
	static const char *const	 bad[] = {
		"OPENAI_API_KEY", "openai_api_key", "Openai_Api_Key",
		"CODEX_API_KEY", "codex_api_key", "AWS_SESSION_TOKEN",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"CODEX_ACCESS_TOKEN", "CODEX_CONNECTORS_TOKEN",
		"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN", "NOTIFY_SOCKET",
		"EMPTY", "MISSING", "", "FOO2=x", "FO", "FOO="
	};
	char *const	 environment[] = {
		var("FOO=bar"), var("FOO2=x=y"), var("EMPTY="),
		var("OPENAI_API_KEY=secret"), var("Openai_Api_Key=secret"),
		var("CODEX_API_KEY=secret"), var("AWS_SESSION_TOKEN=secret"),
		var("NOTIFY_SOCKET=/run/x"), NULL
	};
	const char	*why;
	size_t		 i;

	ck_assert_str_eq(http_variable(environment, TEXT("FOO"), &why), "bar");
	ck_assert_str_eq(http_variable(environment, TEXT("FOO2"), &why),
	    "x=y");
	ck_assert_ptr_null(http_variable(environment, TEXT("FOO\0"), &why));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why = NULL;
		ck_assert_msg(http_variable(environment, bad[i],
		    strlen(bad[i]), &why) == NULL, "%s", bad[i]);
		/* The first twelve are protected. */
		ck_assert_str_eq(why, i < 12 ?
		    "cannot use executor environment variable" :
		    strcmp(bad[i], "EMPTY") == 0 ?
		    "requires a non-empty executor environment variable" :
		    "requires executor environment variable");
	}
}
END_TEST

/* Each name and value in one text. */
static const char *
all_of(const struct http_fields *f)
{
	static char		 out[1024];
	const struct http_field	*e;

	out[0] = '\0';
	TAILQ_FOREACH(e, &f->list, entry) {
		strcat(out, e->name);
		strcat(out, "=");
		strcat(out, e->value);
		strcat(out, ";");
	}
	return out;
}

START_TEST(lines)
{
	struct http_fields	 f;

	http_fields_init(&f);
	ck_assert_int_eq(http_fields_read(&f, TEXT("X-One: \t a b \r\n"),
	    99), 0);
	ck_assert_int_eq(http_fields_read(&f, TEXT("x-one:2\n"), 99), 0);
	ck_assert_int_eq(http_fields_read(&f, TEXT("E:\r\n"), 99), 0);
	ck_assert_int_eq(http_fields_read(&f, TEXT("c: d: e"), 99), 0);
	ck_assert_str_eq(all_of(&f), "x-one=a b;x-one=2;e=;c=d: e;");
	ck_assert_uint_eq(f.n, 4);
	ck_assert_int_eq(http_fields_read(&f, TEXT("no colon\r\n"), 99), 1);
	ck_assert_int_eq(http_fields_read(&f, TEXT(": nameless\r\n"), 99), 1);
	ck_assert_int_eq(http_fields_read(&f, TEXT("n: a\0b\r\n"), 99), 1);
	ck_assert_int_eq(http_fields_read(&f, TEXT(""), 99), 1);
	ck_assert_int_eq(http_fields_read(&f, TEXT("abc: def\r\n"), 6), 0);
	ck_assert_int_eq(http_fields_read(&f, TEXT("abc: defg\r\n"), 6), 1);
	ck_assert_uint_eq(f.n, 5);
	http_fields_clear(&f);
	ck_assert_uint_eq(f.n, 0);
	ck_assert_uint_eq(f.size, 0);
}
END_TEST

START_TEST(what_goes_along)
{
	struct http_fields	 f;

	http_fields_init(&f);
	ck_assert_int_eq(http_fields_add(&f, "Authorization", "a", false), 0);
	ck_assert_int_eq(http_fields_add(&f, "Cookie", "b", false), 0);
	ck_assert_int_eq(http_fields_add(&f, "X-Key", "c", true), 0);
	ck_assert_int_eq(http_fields_add(&f, "Host", "d", false), 0);
	ck_assert_int_eq(http_fields_add(&f, "Content-Type", "e", false), 0);
	ck_assert_int_eq(http_fields_add(&f, "X-Plain", "f", false), 0);
	ck_assert_int_eq(http_fields_add(&f, "cookie", "g", false), 0);
	ck_assert_ptr_null(http_fields_find(&f, "content"));
	ck_assert_str_eq(http_fields_find(&f, "cookie")->value, "b");
	http_fields_drop_credentials(&f);
	ck_assert_str_eq(all_of(&f), "content-type=e;x-plain=f;");
	http_fields_drop_content(&f);
	ck_assert_str_eq(all_of(&f), "x-plain=f;");
	http_fields_clear(&f);
}
END_TEST

static void
expect(const char *base, const char *text, const char *want)
{
	struct http_url	 b, u;

	if (base != NULL)
		ck_assert_int_eq(http_url_parse(&b, base, NULL), HTTP_URL_OK);
	ck_assert_msg(http_url_parse(&u, text, base != NULL ? &b : NULL) ==
	    HTTP_URL_OK,
	    "%s", text);
	ck_assert_str_eq(u.text, want);
	http_url_fini(&u);
	if (base != NULL)
		http_url_fini(&b);
}

static void
expect_not(const char *text, enum http_url_result want)
{
	struct http_url	 u;

	ck_assert_msg(http_url_parse(&u, text, NULL) == want, "%s", text);
	ck_assert_ptr_null(u.text);
	ck_assert_ptr_null(u.origin);
}

START_TEST(urls)
{
	expect(NULL, "http://h", "http://h/");
	expect(NULL, "  http://h:8080/a  ", "http://h:8080/a");
	expect(NULL, "HTTPS://h/a?b=c#d", "https://h/a?b=c");
	expect(NULL, "http://h/a b\"<>`{}?q='\" b`#\"",
	    "http://h/a%20b%22%3C%3E%60%7B%7D?q=%27%22%20b`");
	expect(NULL, "http://h/\xc3\xa4?\xc3\xa4", "http://h/%C3%A4?%C3%A4");
	expect(NULL, "http://h?q", "http://h/?q");
	expect(NULL, "http://u:p@h/", "http://h/");
	expect(NULL, "http://[::1]:80/", "http://[::1]:80/");
	expect_not("", HTTP_URL_BAD);
	expect_not("nonsense", HTTP_URL_BAD);
	expect_not("/path", HTTP_URL_BAD);
	expect_not("http://", HTTP_URL_BAD);
	expect_not("http://h:99999/", HTTP_URL_BAD);
	expect_not("http://[::1/", HTTP_URL_BAD);
	expect_not("http://a b/", HTTP_URL_BAD);
	expect_not("http://a<b/", HTTP_URL_BAD);
	expect_not("http://h/\r\nx", HTTP_URL_BAD);
	expect_not("file:///etc/passwd", HTTP_URL_SCHEME);
	expect_not("ftp://h/", HTTP_URL_SCHEME);
	expect_not("gopher://h/", HTTP_URL_SCHEME);
}
END_TEST

START_TEST(references)
{
	static const char	 base[] = "http://u:p@h:81/one/two?three#four";

	expect(base, "x", "http://h:81/one/x");
	expect(base, "/x y", "http://h:81/x%20y");
	expect(base, "?x", "http://h:81/one/two?x");
	expect(base, "#x", "http://h:81/one/two?three");
	expect(base, "", "http://h:81/one/two?three");
	expect(base, "../x", "http://h:81/x");
	expect(base, "//g/x", "http://g/x");
	expect(base, "https://g/x", "https://g/x");
}
END_TEST

START_TEST(users)
{
	struct http_url	 u;

	ck_assert_int_eq(http_url_parse(&u, "http://u%20v:p%3Aq@h/", NULL),
	    HTTP_URL_OK);
	ck_assert_str_eq(u.user, "u v:p:q");
	http_url_fini(&u);
	ck_assert_int_eq(http_url_parse(&u, "http://u@h/", NULL), HTTP_URL_OK);
	ck_assert_str_eq(u.user, "u:");
	http_url_fini(&u);
	ck_assert_int_eq(http_url_parse(&u, "http://h/", NULL), HTTP_URL_OK);
	ck_assert_ptr_null(u.user);
	http_url_fini(&u);
}
END_TEST

static void
expect_referer(const char *from, const char *to, bool same, const char *want)
{
	struct http_url	 a, b;
	char		*got;

	ck_assert_int_eq(http_url_parse(&a, from, NULL), HTTP_URL_OK);
	ck_assert_int_eq(http_url_parse(&b, to, NULL), HTTP_URL_OK);
	ck_assert_int_eq(http_url_is_same_origin(&a, &b), same);
	got = http_url_referer(&a, &b);
	if (want == NULL)
		ck_assert_ptr_null(got);
	else
		ck_assert_str_eq(got, want);
	free(got);
	http_url_fini(&a);
	http_url_fini(&b);
}

START_TEST(referers)
{
	expect_referer("http://u:p@h/a?b#c", "http://H:80/x", true,
	    "http://h/a?b");
	expect_referer("http://h/a?b", "http://h:81/x", false, "http://h/");
	expect_referer("http://h/a?b", "http://g/x", false, "http://h/");
	expect_referer("http://h/a?b", "https://h/x", false, "http://h/");
	expect_referer("https://h/a?b", "https://g/", false, "https://h/");
	expect_referer("https://h/a?b", "http://h/x", false, NULL);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("http");
	TCase	*t = tcase_create("http");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, tokens);
	tcase_add_test(t, values);
	tcase_add_test(t, urls_to_look_at);
	tcase_add_test(t, variables);
	tcase_add_test(t, lines);
	tcase_add_test(t, what_goes_along);
	tcase_add_test(t, urls);
	tcase_add_test(t, references);
	tcase_add_test(t, users);
	tcase_add_test(t, referers);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
