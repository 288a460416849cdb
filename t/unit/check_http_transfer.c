/*
 * worker/http/helper/http_transfer.c: which options libcurl gets, what is read
 * of an answer, and where a redirect leads.  libcurl is ours.
 */
#include <check.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "common/limit.h"
#include "t/unit/did_help.h"
#include "t/unit/fault.h"
#include "worker/http/helper/http_transfer.h"

/* They are macros that check types. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

typedef size_t	 data_fn(char *, size_t, size_t, void *);

static struct http_transfer	*t;
static struct http_loop		*const loop = (void *)(uintptr_t)&t;
static int			 handle;	/* of libcurl */
static bool			 has_easy, add_fails;
static CURLoption		 bad;		/* an option that fails */
static long			 status;
static char			 options[3000];
static data_fn			*on_header, *on_body;

/* --- in the place of libcurl and of its loop --- */

CURL *
curl_easy_init(void)
{
	return has_easy ? &handle : NULL;
}

void
curl_easy_cleanup(CURL *easy)
{
	ck_assert_ptr_eq(easy, &handle);
	did("cleanup");
}

void
curl_easy_reset(CURL *easy)
{
	ck_assert_ptr_eq(easy, &handle);
	options[0] = '\0';
}

CURLcode
curl_easy_pause(CURL *easy, int how)
{
	ck_assert(easy == &handle && how == CURLPAUSE_CONT);
	did("go on");
	return CURLE_OK;
}

CURLcode
curl_easy_getinfo(CURL *easy, CURLINFO what, ...)
{
	va_list	 ap;

	ck_assert(easy == &handle && what == CURLINFO_RESPONSE_CODE);
	va_start(ap, what);
	*va_arg(ap, long *) = status;
	va_end(ap);
	return CURLE_OK;
}

static void
put_list(const struct curl_slist *l)
{
	for (; l != NULL; l = l->next)
		strcat(strcat(strcat(options, "["), l->data), "]");
}

CURLcode
curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	const struct curl_easyoption	*o = curl_easy_option_by_id(option);
	size_t				 n = strlen(options);
	void				*p;
	va_list				 ap;

	ck_assert(easy == &handle && o != NULL);
	ck_assert_uint_lt(n + 300, sizeof(options));
	if (option == bad)
		return CURLE_OUT_OF_MEMORY;
	va_start(ap, option);
	n += (size_t)snprintf(options + n, sizeof(options) - n, "%s%s",
	    n > 0 ? " " : "", o->name);
	switch (o->type) {
	case CURLOT_LONG:
	case CURLOT_VALUES:
		snprintf(options + n, sizeof(options) - n, "=%ld",
		    va_arg(ap, long));
		break;
	case CURLOT_OFF_T:
		snprintf(options + n, sizeof(options) - n, "=%ld",
		    (long)va_arg(ap, curl_off_t));
		break;
	case CURLOT_STRING:
		snprintf(options + n, sizeof(options) - n, "=%s",
		    va_arg(ap, char *));
		break;
	case CURLOT_SLIST:
		put_list(va_arg(ap, struct curl_slist *));
		break;
	case CURLOT_FUNCTION:
		if (option == CURLOPT_HEADERFUNCTION)
			on_header = va_arg(ap, data_fn *);
		else
			on_body = va_arg(ap, data_fn *);
		break;
	default:
		p = va_arg(ap, void *);
		ck_assert_ptr_eq(p, option == CURLOPT_ERRORBUFFER ?
		    (void *)t->error : option == CURLOPT_POSTFIELDS ?
		    (void *)t->body : t);
	}
	va_end(ap);
	return CURLE_OK;
}

int
http_loop_add(struct http_loop *l, CURL *easy)
{
	ck_assert(l == loop && easy == &handle);
	did("add");
	return add_fails ? -1 : 0;
}

void
http_loop_remove(struct http_loop *l, CURL *easy)
{
	ck_assert(l == loop && easy == &handle);
	did("remove");
}

/* --- the owner --- */

static void
on_answer(struct http_transfer *of, unsigned code,
    const struct http_fields *fields)
{
	const struct http_field	*f;
	char			 text[300] = "";

	ck_assert(of == t && !t->is_redirected);
	TAILQ_FOREACH(f, &fields->list, entry)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    " %s:%.20s", f->name, f->value);
	did("%u%s", code, text);
}

static void
on_piece(struct http_transfer *of, const void *data, size_t len)
{
	ck_assert(of == t && data != NULL);
	did("piece %zu", len);
}

static const struct http_transfer_events	 events = {
	on_answer, on_piece
};

/* --- */

static void
make(const char *method, const char *url)
{
	http_transfer_free(&t);
	did_forget();
	ck_assert_int_eq(http_transfer_new(&t, method, url), HTTP_URL_OK);
	t->events = &events;
	t->loop = loop;
	t->follow = true;
}

static void
begin(void)
{
	ck_assert_int_eq(http_transfer_start(t), 0);
	ck_did("add");
}

static bool
line(const char *text)
{
	size_t	 len = strlen(text);

	return on_header((char *)(uintptr_t)text, 1, len, t) == len;
}

static void
add_header(const char *name, const char *value)
{
	ck_assert_int_eq(http_fields_add(&t->headers, name, value, false), 0);
}

#define CK_OPTIONS(want)	ck_assert_ptr_nonnull(strstr(options, want))
#define CK_NO_OPTION(name)	ck_assert_ptr_null(strstr(options, name))

/* It is over: whether it goes on, and what it says. */
static void
ck_done(CURLcode code, int want, const char *why)
{
	const char	*error = "?";

	ck_assert_int_eq(http_transfer_done(t, code, &error), want);
	if (why == NULL)
		ck_assert_ptr_null(error);
	else
		ck_assert_str_eq(error, why);
}

/* A redirect has come. */
static void
redirect(long code, const char *to)
{
	char	 text[200];

	did_forget();
	status = code;
	snprintf(text, sizeof(text), "Location: %s\r\n", to);
	ck_assert(line("HTTP/1.1 3xx x\r\n"));
	ck_assert(line(text));
	ck_assert(line("Content-Length: 5\r\n"));
	ck_assert(line("\r\n"));
	ck_did("");
}

static void
setup(void)
{
	has_easy = true;
	add_fails = false;
	bad = CURLOPT_LASTENTRY;
	t = NULL;
	make("GET", "http://a.test/x#y");
}

static void
teardown(void)
{
	http_transfer_free(&t);
	did_forget();
}

/* --- options --- */

#define MANNER	"FOLLOWLOCATION=0 HTTP_VERSION=2 NOSIGNAL=1 " \
	"DISALLOW_USERNAME_IN_URL=1 SUPPRESS_CONNECT_HEADERS=1 SSLVERSION=6 " \
	"TCP_KEEPALIVE=1 TCP_KEEPIDLE=60 TCP_KEEPINTVL=60"

START_TEST(test_options)
{
	begin();
	CK_OPTIONS("URL=http://a.test/x HTTPHEADER[accept: */*]"
	    "[content-type:][expect:] HTTPGET=1 CUSTOMREQUEST=GET PRIVATE "
	    "ERRORBUFFER HEADERFUNCTION HEADERDATA WRITEFUNCTION WRITEDATA ");
	CK_OPTIONS(MANNER);
#if LIBCURL_VERSION_NUM >= 0x075500
	CK_OPTIONS(" PROTOCOLS_STR=http,https REDIR_PROTOCOLS_STR=http,https ");
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	CK_OPTIONS(" QUICK_EXIT=1");
#endif
	CK_NO_OPTION("CAINFO");
	CK_NO_OPTION("CAPATH");
	CK_NO_OPTION("NOBODY");
	CK_NO_OPTION("POST");
	make("HEAD", "https://a.test/");
	t->ca_file = "f.pem";
	t->ca_folder = "certs";
	begin();
	CK_OPTIONS(" HTTPGET=1 NOBODY=1 CUSTOMREQUEST=HEAD ");
	CK_OPTIONS(" CAINFO=f.pem CAPATH=certs");
}
END_TEST

START_TEST(test_body)
{
	make("POST", "http://a.test/");
	ck_assert_ptr_nonnull(t->body = strdup("hello"));
	t->body_len = 5;
	add_header("content-length", "7");
	add_header("transfer-encoding", "chunked");
	add_header("expect", "100-continue");
	add_header("content-type", "a/b");
	add_header("accept", "c/d");
	add_header("empty", " \t");
	begin();
	CK_OPTIONS(" HTTPHEADER[content-type: a/b][accept: c/d][empty;]"
	    "[expect:] POSTFIELDSIZE_LARGE=5 POSTFIELDS CUSTOMREQUEST=POST");
	CK_NO_OPTION("HTTPGET");
}
END_TEST

/* Each of them must be taken. */
START_TEST(test_refused_option)
{
	static const CURLoption	 all[] = {
		CURLOPT_URL, CURLOPT_HTTPHEADER, CURLOPT_HTTPGET,
		CURLOPT_CUSTOMREQUEST, CURLOPT_PRIVATE, CURLOPT_WRITEDATA,
		CURLOPT_FOLLOWLOCATION, CURLOPT_HTTP_VERSION, CURLOPT_NOSIGNAL,
		CURLOPT_SSLVERSION, CURLOPT_CAINFO, CURLOPT_CAPATH
	};
	size_t	 i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		t->ca_file = t->ca_folder = "x";
		bad = all[i];
		ck_assert_int_eq(http_transfer_start(t), -1);
	}
	ck_did("");
	bad = CURLOPT_LASTENTRY;
	add_fails = true;
	ck_assert_int_eq(http_transfer_start(t), -1);
	ck_assert(!t->is_added);
	for (i = 1; i <= 3; i++) {
		fault_call("curl_slist_append", (unsigned)i);
		ck_assert_int_eq(http_transfer_start(t), -1);
		ck_assert(fault_came());
	}
	did_forget();
	http_transfer_free(&t);
	ck_did("cleanup");
}
END_TEST

START_TEST(test_new)
{
	struct http_transfer	*x = t;

	ck_assert_int_eq(http_transfer_new(&x, "GET", "no URL"), HTTP_URL_BAD);
	ck_assert_ptr_null(x);
	ck_assert_int_eq(http_transfer_new(&x, "GET", "ftp://a.test/"),
	    HTTP_URL_SCHEME);
	ck_did("cleanup; cleanup");
	has_easy = false;
	ck_assert_int_eq(http_transfer_new(&x, "GET", "http://a.test/"),
	    HTTP_URL_MEMORY);
	has_easy = true;
	fault_call("calloc", 1);
	ck_assert_int_eq(http_transfer_new(&x, "GET", "http://a.test/"),
	    HTTP_URL_MEMORY);
	fault_call("strdup", 1);
	ck_assert_int_eq(http_transfer_new(&x, "GET", "http://a.test/"),
	    HTTP_URL_MEMORY);
	ck_did("");
	http_transfer_free(&x);
	begin();
	http_transfer_free(&t);
	ck_did("remove; cleanup");
}
END_TEST

START_TEST(test_credentials)
{
	make("GET", "http://u:p@a.test/");
	begin();
	CK_OPTIONS("URL=http://a.test/ ");
	CK_OPTIONS("[authorization: Basic dTpw]");
	ck_assert(TAILQ_FIRST(&t->headers.list)->is_secret);
	make("GET", "http://u:p@a.test/");
	add_header("authorization", "mine");
	begin();
	CK_OPTIONS("[authorization: mine]");
	CK_NO_OPTION("Basic");
	make("GET", "http://u:p@a.test/");
	fault_call("malloc", 1);
	ck_assert_int_eq(http_transfer_start(t), -1);
}
END_TEST

/* --- answers --- */

START_TEST(test_answer)
{
	begin();
	status = 100;
	ck_assert(line("HTTP/1.1 100 x\r\n") && line("Old: 1\r\n") &&
	    line("\r\n"));
	ck_did("");
	status = 200;
	ck_assert(line("HTTP/1.1 200 OK\r\n") && line("A: 1\r\n") &&
	    line("B: 2\n") && line("\n"));
	ck_did("200 a:1 b:2");
	/* Trailers. */
	ck_assert(line("C: 3\r\n") && line("\r\n"));
	ck_assert_uint_eq(on_body((char *)options, 1, 0, t), 0);
	ck_did("");
	ck_assert_uint_eq(on_body((char *)options, 1, LIMIT_HTTP_WINDOW, t),
	    LIMIT_HTTP_WINDOW);
	ck_did("piece 131072");
	ck_assert_uint_eq(on_body((char *)options, 1, 1, t),
	    CURL_WRITEFUNC_PAUSE);
	http_transfer_give_room(t, CURL_MAX_WRITE_SIZE - 1);
	ck_did("");
	http_transfer_give_room(t, 1);
	ck_did("go on");
	http_transfer_give_room(t, 1);
	ck_did("");
	ck_assert_uint_eq(t->room, CURL_MAX_WRITE_SIZE + 1);
	ck_done(CURLE_OK, 0, NULL);
	ck_did("remove");
}
END_TEST

START_TEST(test_bad_answer)
{
	static const struct {
		const char	*lines[3];
		long		 status;
		const char	*why;
	}			 bads[] = {
		{ { "bad\r\n" }, 200, "the answer has a malformed header" },
		{ { "\r\n" }, 1000,
		    "the status of the answer is not a three-digit number" },
		{ { "Content-Length: 1\r\n", "content-length: 2\r\n", "\r\n" },
		    200, "the answer has two different lengths" },
		{ { "Location: ftp://x.test/\r\n", "\r\n" }, 302,
		    "redirect to a URL that is not http or https" },
	};
	int	 i;

	begin();
	status = bads[_i].status;
	ck_assert(line("HTTP/1.1 x\r\n"));
	for (i = 0; i < 2 && bads[_i].lines[i + 1] != NULL; i++)
		ck_assert(line(bads[_i].lines[i]));
	ck_assert(!line(bads[_i].lines[i]));
	ck_did("");
	ck_done(CURLE_WRITE_ERROR, 0, bads[_i].why);
}
END_TEST

/* What is no fault. */
START_TEST(test_good_answer)
{
	static const struct {
		const char	*lines[3];
		long		 status;
		const char	*want;
	}			 goods[] = {
		{ { "\r\n" }, 999, "999" },
		{ { "Content-Length: 1\r\n", "content-length: 1\r\n", "\r\n" },
		    200, "200 content-length:1 content-length:1" },
		{ { "A: 1\r\n", "a: 2\r\n", "\r\n" }, 200, "200 a:1 a:2" },
		{ { "\r\n" }, 302, "302" },
		{ { "Location: http://[\r\n", "\r\n" }, 302,
		    "302 location:http://[" },
		{ { "Location: /\x80\r\n", "\r\n" }, 302,
		    "302 location:/\x80" },
		{ { "Location: /z\r\n", "\r\n" }, 300, "300 location:/z" },
		{ { "Location: /z\r\n", "\r\n" }, 304, "304 location:/z" },
		{ { "Location: /z\r\n", "\r\n" }, 201, "201 location:/z" },
	};
	int	 i;

	begin();
	status = goods[_i].status;
	for (i = 0; i < 3 && goods[_i].lines[i] != NULL; i++)
		ck_assert(line(goods[_i].lines[i]));
	ck_did(goods[_i].want);
	ck_done(CURLE_OK, 0, NULL);
}
END_TEST

/* Nothing follows a change of protocol. */
START_TEST(test_cut)
{
	begin();
	status = 101;
	ck_assert(line("HTTP/1.1 101 x\r\n") && !line("\r\n"));
	ck_did("101");
	ck_done(CURLE_WRITE_ERROR, 0, NULL);
}
END_TEST

START_TEST(test_head_max)
{
	static char	 text[LIMIT_HTTP_LINE + 20];
	int		 i;

	begin();
	status = 200;
	memcpy(text, "A: ", 3);
	/* Each counts name, value and 4 bytes. */
	memset(text + 3, 'v', LIMIT_HTTP_LINE - 5);
	for (i = 0; i < LIMIT_HTTP_HEAD / LIMIT_HTTP_LINE; i++)
		ck_assert(line(text));
	if (_i == 0) {
		ck_assert_uint_eq(t->fields.size, LIMIT_HTTP_HEAD);
		ck_assert(line("\r\n"));
		return;
	}
	ck_assert(!line("A: \r\n"));
	ck_done(CURLE_WRITE_ERROR, 0, "the answer has too many headers");
}
END_TEST

START_TEST(test_errors)
{
	begin();
	if (_i == 0) {
		ck_done(CURLE_COULDNT_CONNECT, 0,
		    curl_easy_strerror(CURLE_COULDNT_CONNECT));
	} else if (_i == 1) {
		strcpy(t->error, "more of it");
		ck_done(CURLE_COULDNT_CONNECT, 0, "more of it");
	} else if (_i == 2) {
		ck_done(CURLE_OK, 0, "there was no answer");
	} else {
		fault_call("calloc", 1);
		ck_assert(!line("A: 1\r\n"));
		ck_done(CURLE_WRITE_ERROR, 0, "out of memory");
	}
	ck_did("remove");
}
END_TEST

/* --- redirects --- */

START_TEST(test_redirect)
{
	static const int	 codes[] = { 301, 302, 303, 307, 308 };

	make("PUT", "http://a.test/x");
	ck_assert_ptr_nonnull(t->body = strdup("hello"));
	t->body_len = 5;
	add_header("content-type", "a/b");
	add_header("authorization", "s");
	begin();
	redirect(codes[_i], "/z");
	/* Its body is nobody's. */
	ck_assert_uint_eq(on_body((char *)options, 1, 5, t), 5);
	ck_done(CURLE_OK, 1, NULL);
	ck_did("remove; add");
	CK_OPTIONS("URL=http://a.test/z ");
	CK_OPTIONS("[authorization: s]");
	CK_OPTIONS("[referer: http://a.test/x]");
	if (codes[_i] == 303) {
		CK_OPTIONS("HTTPGET=1 CUSTOMREQUEST=GET");
		CK_OPTIONS("[content-type:]");
	} else {
		CK_OPTIONS("POSTFIELDS CUSTOMREQUEST=PUT");
		CK_OPTIONS("[content-type: a/b]");
	}
	status = 200;
	ck_assert(line("HTTP/1.1 200 x\r\n") && line("\r\n"));
	ck_did("200");
}
END_TEST

START_TEST(test_redirect_method)
{
	static const struct {
		const char	*method;
		int		 code;
		const char	*then;
	}			 rows[] = {
		{ "POST", 301, "GET" }, { "POST", 302, "GET" },
		{ "POST", 303, "GET" }, { "POST", 307, "POST" },
		{ "POST", 308, "POST" }, { "HEAD", 303, "HEAD" },
		{ "DELETE", 303, "GET" }, { "DELETE", 302, "DELETE" }
	};
	char	 want[40];

	make(rows[_i].method, "http://a.test/x");
	begin();
	redirect(rows[_i].code, "https://b.test/");
	ck_done(CURLE_OK, 1, NULL);
	snprintf(want, sizeof(want), "CUSTOMREQUEST=%s ", rows[_i].then);
	CK_OPTIONS(want);
}
END_TEST

/* Secrets stay at their origin; those of the next URL are its own. */
START_TEST(test_redirect_origin)
{
	add_header("authorization", "s");
	add_header("x", "y");
	begin();
	redirect(302, "http://v:w@b.test/");
	ck_done(CURLE_OK, 1, NULL);
	CK_OPTIONS("[x: y]");
	CK_OPTIONS("[authorization: Basic djp3]");
	redirect(302, "http://b.test/2");
	ck_done(CURLE_OK, 1, NULL);
	CK_OPTIONS("[authorization: Basic djp3]");
	redirect(302, "http://b.test:81/2");
	ck_done(CURLE_OK, 1, NULL);
	CK_NO_OPTION("authorization");
}
END_TEST

START_TEST(test_redirects_max)
{
	int	 i;

	begin();
	for (i = 0; i < LIMIT_HTTP_REDIRECTS; i++) {
		redirect(302, "/z");
		ck_done(CURLE_OK, 1, NULL);
		did_forget();
	}
	ck_assert(line("Location: /z\r\n"));
	ck_assert(!line("\r\n"));
	ck_done(CURLE_WRITE_ERROR, 0, "too many redirects");
}
END_TEST

/* A long body is not read, so that the connection is not used again. */
START_TEST(test_redirect_body)
{
	static const char *const lengths[] = {
		"Content-Length: 65536\r\n", "Content-Length: 65537\r\n",
		"X: 1\r\n", "X: 1\r\n"
	};
	bool	 is_read = _i == 0 || _i == 3;

	if (_i == 3)
		make("HEAD", "http://a.test/x");
	begin();
	status = 302;
	ck_assert(line("Location: /z\r\n") && line(lengths[_i]));
	ck_assert(line("\r\n") == is_read);
	ck_done(is_read ? CURLE_OK : CURLE_WRITE_ERROR, 1, NULL);
}
END_TEST

START_TEST(test_not_followed)
{
	t->follow = false;
	begin();
	status = 302;
	ck_assert(line("Location: /z\r\n") && line("\r\n"));
	ck_did("302 location:/z");
	ck_done(CURLE_OK, 0, NULL);
}
END_TEST

START_TEST(test_redirect_fails)
{
	make("POST", "http://a.test/x");
	begin();
	redirect(302, "/z");
	if (_i == 0)
		add_fails = true;
	else
		fault_call(_i == 1 ? "strdup" : "curl_slist_append", 1);
	ck_done(CURLE_OK, 0, "out of memory");
	ck_assert(!t->is_added);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("http_transfer");
	TCase	*c = tcase_create("http_transfer");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_options);
	tcase_add_test(c, test_body);
	tcase_add_test(c, test_refused_option);
	tcase_add_test(c, test_new);
	tcase_add_test(c, test_credentials);
	tcase_add_test(c, test_answer);
	tcase_add_loop_test(c, test_bad_answer, 0, 4);
	tcase_add_loop_test(c, test_good_answer, 0, 9);
	tcase_add_test(c, test_cut);
	tcase_add_loop_test(c, test_head_max, 0, 2);
	tcase_add_loop_test(c, test_errors, 0, 4);
	tcase_add_loop_test(c, test_redirect, 0, 5);
	tcase_add_loop_test(c, test_redirect_method, 0, 8);
	tcase_add_test(c, test_redirect_origin);
	tcase_add_test(c, test_redirects_max);
	tcase_add_loop_test(c, test_redirect_body, 0, 4);
	tcase_add_test(c, test_not_followed);
	tcase_add_loop_test(c, test_redirect_fails, 0, 3);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
