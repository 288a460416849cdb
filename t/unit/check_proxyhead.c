/* worker/proxy/helper/proxyhead.c: which heads pass, and as what. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/proxy/helper/proxyhead.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))
#define ROOM	(256 * 1024)

#define GET	"GET http://a.test/p?q HTTP/1.1\r\n"
#define POST	"POST http://a.test/ HTTP/1.1\r\n"
#define HOST	"Host: a.test\r\n"
#define END	"\r\n"

/* --- requests --------------------------------------------------------------*/

/* A head with all its NULs; the status, and the host and port of a good one. */
static const struct request {
	int		 want;
	const char	*host;
	uint16_t	 port;
	size_t		 len;
	const char	*text;
} requests[] = {
#define ROW(want, host, port, text)					\
	{ want, host, port, sizeof(text) - 1, text }
#define GOOD(host, port, text)	ROW(0, host, port, text)
#define BAD(text)		ROW(400, NULL, 0, text)
	GOOD("a.test", 80, GET HOST END),
	GOOD("a.test", 80, GET END),		/* it is in the target */
	GOOD("a.test", 80, "GET /p HTTP/1.1\r\n" HOST END),
	GOOD("a.test", 8080, "GET / HTTP/1.1\r\nHost: A.TEST.:8080\r\n" END),
	GOOD("a.test", 80, "GET HTTP://A.test:80 HTTP/1.1\r\n" HOST END),
	GOOD("a.test", 80, "GET http://u:p@a.test/ HTTP/1.0\r\n" HOST END),
	GOOD("::1", 81, "GET http://[::1]:81/ HTTP/1.1\r\nHost: "
	    "[0::1]:81\r\n" END),
	GOOD("a.test", 80, "OPTIONS * HTTP/1.1\r\n" HOST END),
	GOOD("a.test", 80, "get http://a.test/ HTTP/1.1\r\n" HOST END),
	GOOD("a.test", 80, POST HOST "Content-Length: 5\r\n" END),
	GOOD("a.test", 80, POST HOST "Transfer-Encoding: chunked\r\n" END),
	GOOD("a.test", 80, POST HOST "transfer-encoding:\tChunked \r\n" END),
	GOOD("a.test", 80, GET HOST "X: \x80\xff\tx\r\nY:\r\n" END),
	GOOD("a.test", 80, GET HOST "Connection: close, x-y\r\n" END),
	GOOD("a.test", 443, "CONNECT a.test:443 HTTP/1.1\r\nHost: b\r\n" END),
	GOOD("a.test", 80, "CONNECT a.test HTTP/1.1\r\n" END),
	GOOD("a.test", 81, "CONNECT http://a.test:81/ HTTP/1.1\r\n" END),
	GOOD("a.test", 80, "CONNECT a.test:80 HTTP/1.1\r\n"
	    "Content-Length: 0\r\n" END),

	/* whose host it is can be read in two ways */
	BAD(GET HOST HOST END),
	BAD(GET "Host: b.test\r\n" END),
	BAD(GET "Host: a.test:81\r\n" END),
	BAD(GET "Host:\r\n" END),
	BAD(GET "Host: a.test, b.test\r\n" END),
	BAD(GET "Host: a.test b\r\n" END),
	BAD(GET "Host : a.test\r\n" END),
	BAD(GET HOST "Host: b.test\r\n" END),
	BAD("GET / HTTP/1.1\r\n" END),
	BAD("GET / HTTP/1.1\r\nHost: u@a.test\r\n" END),
	BAD("GET / HTTP/1.1\r\nHost: a.test/\r\n" END),
	BAD("GET http://a.test@b.test@c.test/ HTTP/1.1\r\n" END),
	BAD("GET http://a.test#@b.test/ HTTP/1.1\r\n" END),
	BAD("GET http://a.test\\@b.test/ HTTP/1.1\r\n" END),
	BAD("GET http:///p HTTP/1.1\r\n" HOST END),
	BAD("GET http:a.test/ HTTP/1.1\r\n" HOST END),
	BAD("GET a.test HTTP/1.1\r\n" HOST END),
	BAD("GET //a.test:99999/ HTTP/1.1\r\nHost: a.test:99999\r\n" END),
	BAD("GET http://a.test:/ HTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test:0/ HTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test:80x/ HTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test:+80/ HTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test:000080/ HTTP/1.1\r\n" HOST END),
	BAD("GET http://::1/ HTTP/1.1\r\n" END),
	BAD("GET http://a%2etest/ HTTP/1.1\r\n" END),
	BAD("GET * HTTP/1.1\r\n" HOST END),
	BAD("options * HTTP/1.1\r\n" HOST END),
	BAD("CONNECT :443 HTTP/1.1\r\n" END),
	BAD("CONNECT / HTTP/1.1\r\n" HOST END),
	BAD("CONNECT a.test:443, HTTP/1.1\r\n" END),
	BAD("CONNECT u@a.test:443 HTTP/1.1\r\n" END),

	/* where its body ends */
	BAD(POST HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
	    END),
	BAD(POST HOST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"
	    END),
	BAD(POST HOST "Content-Length: 5\r\nContent-Length: 5\r\n" END),
	BAD(POST HOST "Content-Length: 5, 5\r\n" END),
	BAD(POST HOST "Content-Length: +5\r\n" END),
	BAD(POST HOST "Content-Length: -1\r\n" END),
	BAD(POST HOST "Content-Length: 0x5\r\n" END),
	BAD(POST HOST "Content-Length: 5 \v\r\n" END),
	BAD(POST HOST "Content-Length:\r\n" END),
	BAD(POST HOST "Content-Length: 9999999999999999999\r\n" END),
	BAD(POST HOST "Content-Length : 5\r\n" END),
	BAD(POST HOST "Content-Length\r\n" END),
	BAD(POST HOST "Transfer-Encoding: gzip, chunked\r\n" END),
	BAD(POST HOST "Transfer-Encoding: identity\r\n" END),
	BAD(POST HOST "Transfer-Encoding: chunked, chunked\r\n" END),
	BAD(POST HOST "Transfer-Encoding: chunked\r\n"
	    "Transfer-Encoding: chunked\r\n" END),
	BAD(POST HOST "Transfer-Encoding: xchunked\r\n" END),
	BAD(POST HOST "Transfer-Encoding: \"chunked\"\r\n" END),
	BAD(POST HOST "Transfer-Encoding:\r\n" END),
	BAD("POST http://a.test/ HTTP/1.0\r\n" HOST
	    "Transfer-Encoding: chunked\r\n" END),
	BAD("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 1\r\n" END),
	BAD("CONNECT a.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
	    END),
	BAD(POST HOST "Connection: content-length\r\nContent-Length: 5\r\n"
	    END),
	BAD(GET HOST "Connection: close, Host\r\n" END),
	BAD(GET HOST "Connection: transfer-encoding\r\n" END),
	BAD(GET HOST "Connection: close\r\nConnection: x\r\n" END),

	/* where a line ends */
	BAD(GET HOST " folded\r\n" END),
	BAD(GET HOST "X: y\r\n\tfolded\r\n" END),
	BAD(GET " X: y\r\n" HOST END),
	BAD("GET / HTTP/1.1\r\nX: y\nHost: b\r\n" HOST END),
	BAD("GET / HTTP/1.1\n" HOST END),
	BAD(GET HOST "X: a\rb\r\n" END),
	BAD(GET HOST "X: a\0b\r\n" END),
	BAD(GET HOST "X\0: b\r\n" END),
	BAD(GET HOST "X: a\x7f\r\n" END),
	BAD(GET HOST ": x\r\n" END),
	BAD(GET HOST "X(: y\r\n" END),
	BAD(GET HOST "X\x80: y\r\n" END),
	BAD(GET HOST "X: y\r\n"),		/* it has no end */
	BAD(GET HOST END "X: y\r\n" END),	/* nor two */

	/* the first line */
	BAD("GET  http://a.test/ HTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test/  HTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test/ HTTP/1.1 \r\n" HOST END),
	BAD("GET http://a.test/\tHTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test/ HTTP/2.0\r\n" HOST END),
	BAD("GET http://a.test/ HTTP/1.2\r\n" HOST END),
	BAD("GET http://a.test/ http/1.1\r\n" HOST END),
	BAD("GET http://a.test/ HTTP/01.1\r\n" HOST END),
	BAD("GET http://a.test/\r\n" HOST END),
	BAD("GET HTTP/1.1\r\n" HOST END),
	BAD("G(T http://a.test/ HTTP/1.1\r\n" HOST END),
	BAD(" GET http://a.test/ HTTP/1.1\r\n" HOST END),
	BAD("GET http://a.test/\x80 HTTP/1.1\r\n" HOST END),
	BAD("AVERYLONGMETHODTHATNOBODYHASEVERHEARDOF http://a.test/ "
	    "HTTP/1.1\r\n" HOST END),
	BAD(END), BAD(""),

	ROW(502, NULL, 0, "GET https://a.test/ HTTP/1.1\r\n" HOST END),
	ROW(502, NULL, 0, "GET ftp://a.test/ HTTP/1.1\r\n" HOST END),
#undef ROW
#undef GOOD
#undef BAD
};

START_TEST(test_requests)
{
	const struct request	*r = &requests[_i];
	struct proxyhead	 h;

	proxyhead_parse(r->text, r->len, &h);
	ck_assert_msg(h.status == r->want, "%d, not %d: %s", h.status,
	    r->want, r->text);
	if (r->want != 0)
		return;
	ck_assert_msg(strcmp(h.host.text, r->host) == 0, "%s: %s",
	    h.host.text, r->text);
	ck_assert_uint_eq(h.port, r->port);
	/* Whoever reads it byte by byte finds the same end. */
	for (size_t n = 0; n < r->len; n++)
		ck_assert_uint_eq(proxyhead_end(r->text, n), 0);
	ck_assert_uint_eq(proxyhead_end(r->text, r->len), r->len);
}
END_TEST

/* What cannot become a head is refused before more of it comes. */
static const struct {
	const char	*text;
	size_t		 len;
} hopeless[] = {
#define ROW(text)	{ text, sizeof(text) - 1 }
	ROW("\x16\x03\x01"), ROW("\x05\x01"), ROW("GET\0"), ROW("\r\n"),
	ROW("\n"), ROW("GET / HTTP/1.1\n"),
	ROW("GET / HTTP/1.1\r\nX: y\n"),
	ROW("GET / HTTP/1.1\r\nX: y\r\n\n"),
#undef ROW
};

START_TEST(test_hopeless)
{
	struct proxyhead	 h;

	ck_assert_uint_eq(proxyhead_end(hopeless[_i].text, hopeless[_i].len),
	    hopeless[_i].len);
	proxyhead_parse(hopeless[_i].text, hopeless[_i].len, &h);
	ck_assert_int_eq(h.status, 400);
}
END_TEST

START_TEST(test_too_long)
{
	struct proxyhead	 h;
	char			*text = malloc(ROOM);
	size_t			 len;

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', ROOM);
	len = (size_t)sprintf(text, GET HOST "X: ");
	text[len] = 'x';
	ck_assert_uint_eq(proxyhead_end(text, LIMIT_NET_HEAD), 0);
	ck_assert_uint_eq(proxyhead_end(text, LIMIT_NET_HEAD + 1),
	    LIMIT_NET_HEAD + 1);
	proxyhead_parse(text, LIMIT_NET_HEAD + 1, &h);
	ck_assert_int_eq(h.status, 431);
	memcpy(text + LIMIT_NET_HEAD - 4, "\r\n\r\n", 4);
	proxyhead_parse(text, LIMIT_NET_HEAD, &h);
	ck_assert_int_eq(h.status, 0);
	/* As many lines as may be, then one more. */
	for (int more = 0; more < 2; more++) {
		len = (size_t)sprintf(text, GET);
		for (int i = 0; i < LIMIT_NET_FIELDS + more; i++)
			len += (size_t)sprintf(text + len, "X: %d\r\n", i);
		len += (size_t)sprintf(text + len, END);
		proxyhead_parse(text, len, &h);
		ck_assert_int_eq(h.status, more ? 431 : 0);
	}
	free(text);
}
END_TEST

/* --- what the server gets --------------------------------------------------*/

static const struct {
	const char	*text, *auth;
	bool		 absolute, closes;
	const char	*want;
} forwarded[] = {
	{ GET HOST "X: y\r\n" END, NULL, false, false,
	    "GET /p?q HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\n" },
	{ GET END, NULL, false, false,
	    "GET /p?q HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	{ GET HOST END, "dTpw", true, true,
	    "GET http://a.test/p?q HTTP/1.1\r\nHost: a.test\r\n"
	    "Proxy-Authorization: Basic dTpw\r\nConnection: close\r\n\r\n" },
	{ "GET http://u:p@A.test.:81?q HTTP/1.0\r\nHost: a.test:81\r\n" END,
	    NULL, false, false,
	    "GET /?q HTTP/1.0\r\nHost: a.test:81\r\n\r\n" },
	{ "GET http://[::8.8.8.8] HTTP/1.1\r\n" END, NULL, true, false,
	    "GET http://[::808:808]/ HTTP/1.1\r\nHost: [::808:808]\r\n\r\n" },
	{ "OPTIONS * HTTP/1.1\r\n" HOST END, NULL, false, false,
	    "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	{ "OPTIONS * HTTP/1.1\r\n" HOST END, NULL, true, false,
	    "OPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	{ "OPTIONS http://a.test HTTP/1.1\r\n" END, NULL, false, false,
	    "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	/* What is of the client's connection stays behind. */
	{ POST "proxy-authorization: Basic c2VjcmV0\r\n" HOST
	    "Proxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
	    "Upgrade: h2c\r\nConnection: x-own, Upgrade, keep-alive\r\n"
	    "X-Own: 1\r\nX-Other: 2\r\nContent-Length: 3\r\n"
	    "Expect: 100-continue\r\n" END, NULL, false, false,
	    "POST / HTTP/1.1\r\nHost: a.test\r\nX-Other: 2\r\n"
	    "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n" },
};

START_TEST(test_forwarded)
{
	struct proxyhead	 h;
	struct buf		 b;

	proxyhead_parse(forwarded[_i].text, strlen(forwarded[_i].text), &h);
	ck_assert_int_eq(h.status, 0);
	buf_init(&b, ROOM);
	ck_assert_int_eq(proxyhead_forward(&h, forwarded[_i].absolute,
	    forwarded[_i].auth, forwarded[_i].closes, &b), 0);
	ck_assert_int_eq(buf_put(&b, "", 1), 0);
	ck_assert_str_eq((const char *)buf_data(&b), forwarded[_i].want);
	buf_fini(&b);
}
END_TEST

START_TEST(test_members)
{
	struct proxyhead	 h;

#define PARSE(text)	proxyhead_parse((text), strlen(text), &h)
	PARSE(POST HOST "Content-Length: 12\r\n" END);
	ck_assert_int_eq(h.body, PROXYBODY_LENGTH);
	ck_assert_uint_eq(h.length, 12);
	ck_assert(!h.is_last && !h.is_old && !h.has_unix_socket);
	PARSE(POST HOST "Transfer-Encoding: chunked\r\n" END);
	ck_assert_int_eq(h.body, PROXYBODY_CHUNKED);
	PARSE(POST HOST "Content-Length: 0\r\nX-Unix-Socket: /x\r\n" END);
	ck_assert_int_eq(h.body, PROXYBODY_NONE);
	ck_assert(h.has_unix_socket);
	PARSE(GET HOST "Connection: x, Close\r\n" END);
	ck_assert(h.is_last);
	PARSE("GET / HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n" END);
	ck_assert(h.is_last && h.is_old);
	PARSE("CONNECT a.test:443 HTTP/1.1\r\n" END);
	ck_assert(h.is_connect);
	ck_assert_int_eq(h.body, PROXYBODY_NONE);
}
END_TEST

/* --- answers ---------------------------------------------------------------*/

#define OK	"HTTP/1.1 200 OK\r\n"

static const struct reply {
	bool		 is_valid, is_last;
	unsigned	 status;
	enum proxybody_kind body;
	uint64_t	 length;
	const char	*method, *text;
} replies[] = {
	{ true, false, 200, PROXYBODY_LENGTH, 3, "GET",
	    OK "Content-Length: 3\r\n" END },
	{ true, false, 200, PROXYBODY_NONE, 3, "HEAD",
	    OK "Content-Length: 3\r\n" END },
	{ true, false, 200, PROXYBODY_NONE, 0, "GET",
	    OK "Content-Length: 0\r\n" END },
	{ true, false, 200, PROXYBODY_CHUNKED, 0, "GET",
	    OK "Transfer-Encoding: chunked\r\n" END },
	{ true, true, 200, PROXYBODY_TO_END, 0, "GET", OK END },
	{ true, true, 200, PROXYBODY_LENGTH, 3, "GET",
	    OK "Content-Length: 3\r\nConnection: close\r\n" END },
	{ true, true, 200, PROXYBODY_LENGTH, 3, "GET",
	    "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n" END },
	{ true, false, 200, PROXYBODY_LENGTH, 3, "GET",
	    "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n"
	    "Connection: keep-alive\r\n" END },
	{ true, false, 304, PROXYBODY_NONE, 3, "GET",
	    "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n" END },
	{ true, false, 204, PROXYBODY_NONE, 0, "GET",
	    "HTTP/1.1 204\r\n" END },
	{ true, false, 100, PROXYBODY_NONE, 0, "POST",
	    "HTTP/1.1 100 Continue\r\n" END },
#define BAD(text)	{ false, false, 0, PROXYBODY_NONE, 0, "GET", text }
	BAD(OK "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n" END),
	BAD(OK "Content-Length: 3\r\nContent-Length: 4\r\n" END),
	BAD(OK "Transfer-Encoding: gzip\r\n" END),
	BAD("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n" END),
	BAD(OK "X: y\r\n folded\r\n" END),
	BAD(OK "X : y\r\n" END),
	BAD("HTTP/1.1 099 Low\r\n" END),
	BAD("HTTP/1.1 2000 Four\r\n" END),
	BAD("HTTP/1.1 20x OK\r\n" END),
	BAD("HTTP/1.1 20\r\n" END),
	BAD("HTTP/2 200 OK\r\n" END),
	BAD("ICY 200 OK\r\n" END),
	BAD("HTTP/1.1  200 OK\r\n" END),
	BAD("HTTP/1.1 200 a\rb\r\n" END),
	BAD(END),
#undef BAD
};

START_TEST(test_replies)
{
	const struct reply	*w = &replies[_i];
	struct proxyreply	 r;

	proxyhead_reply(w->text, strlen(w->text), w->method, &r);
	ck_assert_msg(r.is_valid == w->is_valid, "%s", w->text);
	if (!w->is_valid)
		return;
	ck_assert_uint_eq(r.status, w->status);
	ck_assert_int_eq(r.body, w->body);
	ck_assert_uint_eq(r.length, w->length);
	ck_assert_msg(r.is_last == w->is_last, "%s", w->text);
}
END_TEST

START_TEST(test_passed)
{
	static const char	 text[] = OK "X: y\r\nHost: z\r\n"
	    "Connection: x-own, close\r\nX-Own: 1\r\nKeep-Alive: 5\r\n"
	    "Content-Length: 3\r\n" END;
	struct proxyreply	 r;
	struct buf		 b;

	proxyhead_reply(text, sizeof(text) - 1, "GET", &r);
	ck_assert(r.is_valid);
	buf_init(&b, ROOM);
	ck_assert_int_eq(proxyhead_pass(&r, true, &b), 0);
	ck_assert_int_eq(proxyhead_pass(&r, false, &b), 0);
	ck_assert_int_eq(buf_put(&b, "", 1), 0);
	ck_assert_str_eq((const char *)buf_data(&b),
	    OK "X: y\r\nHost: z\r\nContent-Length: 3\r\n"
	    "Connection: close\r\n\r\n"
	    OK "X: y\r\nHost: z\r\nContent-Length: 3\r\n\r\n");
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxyhead");
	TCase	*t = tcase_create("proxyhead");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_requests, 0, N(requests));
	tcase_add_loop_test(t, test_hopeless, 0, N(hopeless));
	tcase_add_test(t, test_too_long);
	tcase_add_loop_test(t, test_forwarded, 0, N(forwarded));
	tcase_add_test(t, test_members);
	tcase_add_loop_test(t, test_replies, 0, N(replies));
	tcase_add_test(t, test_passed);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
