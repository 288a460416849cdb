/*
 * worker/proxy/helper: what clients send to the proxy, and servers to them:
 * heads of HTTP/1, bodies, SOCKS5.
 */
#include <sys/socket.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/proxy/helper/proxybody.h"
#include "worker/proxy/helper/proxyhead.h"
#include "worker/proxy/helper/socks5.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))
#define ROOM	(1024 * 1024)
#define H	"Host: h\r\n"

/* --- the end of a head --- */

static const struct {
	const char	*text;
	size_t		 end;
} ends[] = {
	{ "", 0 },
	{ "GET / HTTP/1.1", 0 },
	{ "GET / HTTP/1.1\r\n", 0 },
	{ "GET / HTTP/1.1\r\n\r", 0 },
	{ "GET / HTTP/1.1\r\n\r\nbody", 18 },
	{ "GET / HTTP/1.1\r\na: b\r\n\r\nx", 24 },
	/* No further byte can help. */
	{ "\n", 1 },
	{ "\r\n", 2 },
	{ "a\nb", 3 },
	{ "GET / HTTP/1.1\r\na: b\nc", 22 },
	{ "\026\003\001", 3 },
	{ "GE\177", 3 },
	{ "a\rb\001", 0 },
};

START_TEST(test_end)
{
	ck_assert_uint_eq(proxyhead_end(ends[_i].text, strlen(ends[_i].text)),
	    ends[_i].end);
}
END_TEST

/* A head of len bytes, which is valid but for its length. */
static char *
long_head(size_t len)
{
	static const char	 begin[] = "GET http://h/ HTTP/1.1\r\na: ";
	char			*text = malloc(len + 1);

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', len);
	memcpy(text, begin, sizeof(begin) - 1);
	memcpy(text + len - 4, "\r\n\r\n", 5);
	return text;
}

START_TEST(test_long)
{
	struct proxyhead	 h;
	struct proxyreply	 r;
	char			*text = long_head(LIMIT_NET_HEAD + 1);

	ck_assert_uint_eq(proxyhead_end(text, LIMIT_NET_HEAD), 0);
	ck_assert_uint_eq(proxyhead_end(text, LIMIT_NET_HEAD + 1),
	    LIMIT_NET_HEAD + 1);
	proxyhead_parse(text, LIMIT_NET_HEAD + 1, &h);
	ck_assert_int_eq(h.status, 431);
	memset(text, 'x', LIMIT_NET_HEAD + 1);
	ck_assert_uint_eq(proxyhead_end(text, LIMIT_NET_HEAD), 0);
	ck_assert_uint_eq(proxyhead_end(text, LIMIT_NET_HEAD + 1),
	    LIMIT_NET_HEAD + 1);
	free(text);
	text = long_head(LIMIT_NET_HEAD);
	proxyhead_parse(text, LIMIT_NET_HEAD, &h);
	ck_assert_int_eq(h.status, 0);
	/* An answer has the same bound. */
	memcpy(text, "HTTP/1.1 200 OK       \r\n", 24);
	proxyhead_reply(text, LIMIT_NET_HEAD, "GET", &r);
	ck_assert(r.is_valid);
	free(text);
	text = long_head(LIMIT_NET_HEAD + 1);
	memcpy(text, "HTTP/1.1 200 OK       \r\n", 24);
	proxyhead_reply(text, LIMIT_NET_HEAD + 1, "GET", &r);
	ck_assert(!r.is_valid);
	free(text);
}
END_TEST

START_TEST(test_many_lines)
{
	struct proxyhead	 h;
	static char		 text[8 * LIMIT_NET_FIELDS];
	size_t			 len;
	int			 i;

	len = (size_t)sprintf(text, "GET http://h/ HTTP/1.1\r\n");
	for (i = 0; i < LIMIT_NET_FIELDS + _i; i++)
		len += (size_t)sprintf(text + len, "a:b\r\n");
	len += (size_t)sprintf(text + len, "\r\n");
	ck_assert_uint_lt(len, sizeof(text));
	proxyhead_parse(text, len, &h);
	ck_assert_int_eq(h.status, _i == 0 ? 0 : 431);
}
END_TEST

/* --- requests: how they are read, and what the server gets --- */

static const struct {
	const char	*text;
	int		 status;
	const char	*host;
	uint16_t	 port;
	const char	*server, *proxy;	/* NULL: a tunnel */
} requests[] = {
	{ "GET http://h/p?q HTTP/1.1\r\n\r\n", 0, "h", 80,
	    "GET /p?q HTTP/1.1\r\nHost: h\r\n\r\n",
	    "GET http://h/p?q HTTP/1.1\r\nHost: h\r\n\r\n" },
	{ "GET http://u@h:8/ HTTP/1.1\r\nHost: H:8\r\nA: b\r\n\r\n", 0, "h",
	    8, "GET / HTTP/1.1\r\nHost: h:8\r\nA: b\r\n\r\n",
	    "GET http://h:8/ HTTP/1.1\r\nHost: h:8\r\nA: b\r\n\r\n" },
	{ "GET http://h HTTP/1.0\r\n\r\n", 0, "h", 80,
	    "GET / HTTP/1.0\r\nHost: h\r\n\r\n",
	    "GET http://h/ HTTP/1.0\r\nHost: h\r\n\r\n" },
	{ "GET http://h?q HTTP/1.1\r\n\r\n", 0, "h", 80,
	    "GET /?q HTTP/1.1\r\nHost: h\r\n\r\n",
	    "GET http://h/?q HTTP/1.1\r\nHost: h\r\n\r\n" },
	{ "GET /p HTTP/1.1\r\nHost: h:65535\r\n\r\n", 0, "h", 65535,
	    "GET /p HTTP/1.1\r\nHost: h:65535\r\n\r\n",
	    "GET http://h:65535/p HTTP/1.1\r\nHost: h:65535\r\n\r\n" },
	{ "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", 0, "::1", 80,
	    "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n",
	    "GET http://[::1]/ HTTP/1.1\r\nHost: [::1]\r\n\r\n" },
	{ "GET / HTTP/1.1\r\nHost: [::1]:81\r\n\r\n", 0, "::1", 81,
	    "GET / HTTP/1.1\r\nHost: [::1]:81\r\n\r\n",
	    "GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\n\r\n" },
	{ "OPTIONS http://h HTTP/1.1\r\n\r\n", 0, "h", 80,
	    "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
	    "OPTIONS http://h HTTP/1.1\r\nHost: h\r\n\r\n" },
	{ "OPTIONS * HTTP/1.1\r\n" H "\r\n", 0, "h", 80,
	    "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
	    "OPTIONS http://h HTTP/1.1\r\nHost: h\r\n\r\n" },
	/* What is of this connection alone stays here. */
	{ "GET / HTTP/1.1\r\n" H "Connection: x, keep-alive\r\nX: 1\r\n"
	    "Y: 2\r\nKeep-Alive: 3\r\nTE: 4\r\nUpgrade: 5\r\n"
	    "Proxy-Connection: 6\r\nProxy-Authorization: 7\r\n"
	    "Proxy-Authenticate: 8\r\nProxy-Authentication-Info: 9\r\n\r\n",
	    0, "h", 80, "GET / HTTP/1.1\r\nHost: h\r\nY: 2\r\n\r\n",
	    "GET http://h/ HTTP/1.1\r\nHost: h\r\nY: 2\r\n\r\n" },
	{ "CONNECT h:443 HTTP/1.1\r\n\r\n", 0, "h", 443, NULL, NULL },
	{ "CONNECT h HTTP/1.1\r\nHost: other\r\n\r\n", 0, "h", 80, NULL,
	    NULL },
	{ "CONNECT http://h:8/ HTTP/1.1\r\n\r\n", 0, "h", 8, NULL, NULL },
	{ "GET ftp://h/ HTTP/1.1\r\n\r\n", 502, NULL, 0, NULL, NULL },
	{ "GET https://h/ HTTP/1.1\r\n\r\n", 502, NULL, 0, NULL, NULL },
#define BAD(text)	{ text "\r\n\r\n", 400, NULL, 0, NULL, NULL }
	BAD("GET / HTTP/1.1"),			/* no host */
	BAD("GET / HTTP/1.1\r\nHost:"),
	BAD("GET * HTTP/1.1\r\nHost: h"),
	BAD("GET http:/h/ HTTP/1.1"),
	BAD("GET http//h/ HTTP/1.1"),
	BAD("GET ://h/ HTTP/1.1"),
	BAD("GET http:///p HTTP/1.1"),
	BAD("GET http://a@b@h/ HTTP/1.1"),
	BAD("GET http://h/#f HTTP/1.1"),
	BAD("GET http://h\\x/ HTTP/1.1"),
	BAD("GET http://h/\1 HTTP/1.1"),
	BAD("GET  / HTTP/1.1\r\nHost: h"),
	BAD("GET / HTTP/1.2\r\nHost: h"),
	BAD("GET / HTTP/1.1 \r\nHost: h"),
	BAD("GET /\r\nHost: h"),
	BAD("GET"),
	BAD("G(T / HTTP/1.1\r\nHost: h"),
	BAD("MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM / HTTP/1.1\r\nHost: h"),
	BAD("GET http://h/ HTTP/1.1\r\nHost: other"),
	BAD("GET http://h/ HTTP/1.1\r\nHost: h:81"),
	BAD("GET http://h/ HTTP/1.1\r\nHost: h\r\nhost: h"),
	BAD("GET http://h:/ HTTP/1.1"),
	BAD("GET http://h:0/ HTTP/1.1"),
	BAD("GET http://h:65536/ HTTP/1.1"),
	BAD("GET http://h:000080/ HTTP/1.1"),
	BAD("GET http://h:8x/ HTTP/1.1"),
	BAD("GET http://::1/ HTTP/1.1"),
	BAD("CONNECT ::1:443 HTTP/1.1"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\n folded"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\na b: c"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\n: c"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nno colon"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\na: \1"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\na: b\rc"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nConnection: a\r\nConnection: b"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Host"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nConnection: content-length"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nConnection: Transfer-Encoding"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nConnection: Content-Type"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nConnection: Expect"),
	BAD("GET / HTTP/1.1\r\nHost: h\r\nConnection: Trailer"),
#undef BAD
};

static struct buf	 out;

static void
wrote(int rv, const char *want)
{
	ck_assert_int_eq(rv, 0);
	ck_assert_int_eq(buf_put(&out, "", 1), 0);
	ck_assert_str_eq((const char *)buf_data(&out), want);
	buf_drain(&out, out.len);
}

/* Where there is less room nothing is taken for written. */
static void
fails_in_less(const struct proxyhead *h, const struct proxyreply *r,
    size_t len)
{
	struct buf	 small;
	size_t		 room;

	for (room = 1; room < len; room++) {
		buf_init(&small, room);
		ck_assert_int_eq(h != NULL ?
		    proxyhead_forward(h, true, "eA==", true, &small) :
		    proxyhead_pass(r, true, &small), -1);
		buf_fini(&small);
	}
}

static void
parse(const char *text, struct proxyhead *h)
{
	proxyhead_parse(text, strlen(text), h);
}

START_TEST(test_request)
{
	struct proxyhead	 h;
	char			 want[300];
	size_t			 n;

	ck_assert_uint_eq(proxyhead_end(requests[_i].text,
	    strlen(requests[_i].text)), strlen(requests[_i].text));
	parse(requests[_i].text, &h);
	ck_assert_int_eq(h.status, requests[_i].status);
	if (h.status != 0)
		return;
	ck_assert_str_eq(h.host.text, requests[_i].host);
	ck_assert_uint_eq(h.port, requests[_i].port);
	ck_assert_int_eq(h.is_connect, requests[_i].server == NULL);
	ck_assert_int_eq(h.body, PROXYBODY_NONE);
	if (h.is_connect)
		return;
	buf_init(&out, ROOM);
	wrote(proxyhead_forward(&h, false, NULL, false, &out),
	    requests[_i].server);
	wrote(proxyhead_forward(&h, true, NULL, false, &out),
	    requests[_i].proxy);
	n = strlen(requests[_i].proxy) - 2;
	snprintf(want, sizeof(want), "%.*sProxy-Authorization: Basic eA==\r\n"
	    "Connection: close\r\n\r\n", (int)n, requests[_i].proxy);
	wrote(proxyhead_forward(&h, true, "eA==", true, &out), want);
	fails_in_less(&h, NULL, strlen(want));
	buf_fini(&out);
}
END_TEST

/* What else a request says. */
static const struct {
	const char		*line, *fields;
	int			 status;
	enum proxybody_kind	 body;
	uint64_t		 length;
	bool			 is_last, has_unix_socket;
} framed[] = {
	{ "GET / HTTP/1.1", "", 0, PROXYBODY_NONE, 0, false, false },
	{ "GET / HTTP/1.0", "", 0, PROXYBODY_NONE, 0, true, false },
	{ "GET / HTTP/1.1", "Connection: Close\r\n", 0, PROXYBODY_NONE, 0,
	    true, false },
	{ "GET / HTTP/1.1", "X-Unix-Socket: /s\r\n", 0, PROXYBODY_NONE, 0,
	    false, true },
	{ "POST / HTTP/1.1", "Content-Length: 0\r\n", 0, PROXYBODY_NONE, 0,
	    false, false },
	{ "POST / HTTP/1.0", "Content-Length: 09\r\n", 0, PROXYBODY_LENGTH,
	    9, true, false },
	{ "POST / HTTP/1.1", "Content-Length: 999999999999999999\r\n", 0,
	    PROXYBODY_LENGTH, 999999999999999999, false, false },
	{ "POST / HTTP/1.1", "Transfer-Encoding: Chunked\r\n", 0,
	    PROXYBODY_CHUNKED, 0, false, false },
#define BAD(line, fields)						\
	{ line, fields "\r\n", 400, PROXYBODY_NONE, 0, false, false }
	BAD("POST / HTTP/1.1", "Content-Length: 1000000000000000000"),
	BAD("POST / HTTP/1.1", "Content-Length:"),
	BAD("POST / HTTP/1.1", "Content-Length: +1"),
	BAD("POST / HTTP/1.1", "Content-Length: 1, 1"),
	BAD("POST / HTTP/1.1", "Content-Length: 1\r\nContent-Length: 1"),
	BAD("POST / HTTP/1.1",
	    "Content-Length: 1\r\nTransfer-Encoding: chunked"),
	BAD("POST / HTTP/1.1", "Transfer-Encoding: gzip"),
	BAD("POST / HTTP/1.1", "Transfer-Encoding: gzip, chunked"),
	BAD("POST / HTTP/1.1",
	    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
	BAD("POST / HTTP/1.0", "Transfer-Encoding: chunked"),
	BAD("CONNECT h:1 HTTP/1.1", "Content-Length: 1"),
	BAD("CONNECT h:1 HTTP/1.1", "Transfer-Encoding: chunked"),
#undef BAD
};

START_TEST(test_framed)
{
	struct proxyhead	 h;
	char			 text[300];

	snprintf(text, sizeof(text), "%s\r\n" H "%s\r\n", framed[_i].line,
	    framed[_i].fields);
	parse(text, &h);
	ck_assert_int_eq(h.status, framed[_i].status);
	if (h.status != 0)
		return;
	ck_assert_int_eq(h.body, framed[_i].body);
	ck_assert_uint_eq(h.length, framed[_i].length);
	ck_assert_int_eq(h.is_last, framed[_i].is_last);
	ck_assert_int_eq(h.has_unix_socket, framed[_i].has_unix_socket);
	/* What its length says stays in it. */
	if (h.body != PROXYBODY_NONE) {
		buf_init(&out, ROOM);
		ck_assert_int_eq(proxyhead_forward(&h, false, NULL, false,
		    &out), 0);
		ck_assert_ptr_nonnull(memmem(buf_data(&out), out.len,
		    framed[_i].fields, strlen(framed[_i].fields)));
		buf_fini(&out);
	}
}
END_TEST

/* A head that ends before its empty line, or goes on after it. */
START_TEST(test_cut)
{
	static const char	*const texts[] = {
		"GET / HTTP/1.1\r\n" H, "GET / HTTP/1.1",
		"GET / HTTP/1.1\r\n" H "\r\nx: y\r\n", ""
	};
	struct proxyhead	 h;

	parse(texts[_i], &h);
	ck_assert_int_eq(h.status, 400);
}
END_TEST

/* --- answers --- */

static const struct {
	const char		*text, *method;
	unsigned		 status;	/* 0: not valid */
	enum proxybody_kind	 body;
	bool			 is_last;
	const char		*passed;	/* if it is not the same */
} replies[] = {
	{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", 200,
	    PROXYBODY_LENGTH, false, NULL },
	{ "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "GET", 200,
	    PROXYBODY_NONE, false, NULL },
	{ "HTTP/1.1 599 \r\nHost: x\r\n\r\n", "GET", 599, PROXYBODY_TO_END,
	    true, NULL },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET",
	    200, PROXYBODY_CHUNKED, false, NULL },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD",
	    200, PROXYBODY_NONE, false, NULL },
	{ "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", "GET", 204,
	    PROXYBODY_NONE, false, NULL },
	{ "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", "GET", 304,
	    PROXYBODY_NONE, false, NULL },
	{ "HTTP/1.1 199 No\r\nContent-Length: 5\r\n\r\n", "GET", 199,
	    PROXYBODY_NONE, false, NULL },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n"
	    "\r\n", "GET", 200, PROXYBODY_LENGTH, true,
	    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", 200,
	    PROXYBODY_LENGTH, true, NULL },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n"
	    "Connection: keep-alive, x\r\nX: 1\r\n\r\n", "GET", 200,
	    PROXYBODY_LENGTH, false,
	    "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n" },
#define BAD(text)							\
	{ text "\r\n\r\n", "GET", 0, PROXYBODY_NONE, false, NULL }
	BAD("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked"),
	BAD("HTTP/1.1 200 OK\r\nContent-Length: x"),
	BAD("HTTP/1.1 099 OK"), BAD("HTTP/1.1 :00 OK"),
	BAD("HTTP/1.1 2x0 OK"), BAD("HTTP/1.1 20x OK"),
	BAD("HTTP/1.1 20"), BAD("HTTP/1.1 2000"), BAD("HTTP/1.2 200 OK"),
	BAD("HTTP/2 200 OK"), BAD("HTTP/1.1 200 \1"),
#undef BAD
};

START_TEST(test_reply)
{
	struct proxyreply	 r;
	const char		*text = replies[_i].text;
	const char		*want = replies[_i].passed;
	char			 closing[200];

	proxyhead_reply(text, strlen(text), replies[_i].method, &r);
	ck_assert_int_eq(r.is_valid, replies[_i].status != 0);
	if (!r.is_valid)
		return;
	ck_assert_uint_eq(r.status, replies[_i].status);
	ck_assert_int_eq(r.body, replies[_i].body);
	ck_assert_int_eq(r.is_last, replies[_i].is_last);
	if (r.body == PROXYBODY_LENGTH)
		ck_assert_uint_eq(r.length, 5);
	if (want == NULL)
		want = text;
	buf_init(&out, ROOM);
	wrote(proxyhead_pass(&r, false, &out), want);
	snprintf(closing, sizeof(closing), "%.*sConnection: close\r\n\r\n",
	    (int)strlen(want) - 2, want);
	wrote(proxyhead_pass(&r, true, &out), closing);
	fails_in_less(NULL, &r, strlen(closing));
	buf_fini(&out);
}
END_TEST

/* --- bodies --- */

static const struct {
	const char	*text;
	ssize_t		 used;		/* -1: malformed */
	bool		 is_over;
} chunked[] = {
	{ "0\r\n\r\n", 5, true },
	{ "0\r\n\r\nGET", 5, true },
	{ "3\r\nabc\r\n0\r\n\r\n", 13, true },
	{ "3\r\nabc\r\n2\r\nab", 13, false },
	{ "00A\r\n0123456789\r\n0;x\r\n\r\n", 24, true },
	{ "a;e=\"\t x\"\r\n0123456789\r\n0\r\n\r\n", 28, true },
	{ "9\r\n012345678\r\n", 14, false },
	{ "000000000000001\r\na\r\n01\r\n", 24, false },
	{ "F\r\n0123456789abcde\r\nf\r\n", 23, false },
	{ "0\r\nA: b\r\nC:\r\n\r\n", 15, true },
	{ "0\r\nA: \r\n\r", 9, false },
	{ "fffffffffffffff\r\nx", 18, false },
	{ "1000000000000000\r\n", -1, false },
	{ "\r\n", -1, false }, { ";x\r\n", -1, false },
	{ "g\r\n", -1, false }, { "G\r\n", -1, false },
	{ "/\r\n", -1, false }, { "@\r\n", -1, false },
	{ "`\r\n", -1, false }, { ":\r\n", -1, false },
	{ "1 \r\n", -1, false }, { "1\n", -1, false },
	{ "1\rx", -1, false }, { "1;\1\r\n", -1, false },
	{ "1;\177\r\n", -1, false },
	{ "1\r\nab", -1, false }, { "1\r\na\rb", -1, false },
	{ "1\r\na\n", -1, false },
	{ "0\r\n:\r\n", -1, false }, { "0\r\na b:\r\n", -1, false },
	{ "0\r\na\r\n", -1, false }, { "0\r\na\177:\r\n", -1, false },
	{ "0\r\na:\1\r\n", -1, false }, { "0\r\na:b\rc", -1, false },
	{ "0\r\na:b\n", -1, false }, { "0\r\n\rx", -1, false },
	{ "0\r\n\n", -1, false },
};

START_TEST(test_chunked)
{
	struct proxybody	 b;
	const char		*s = chunked[_i].text;
	size_t			 at, len = strlen(s);
	ssize_t			 n = 0;

	proxybody_start(&b, PROXYBODY_CHUNKED, 7);
	ck_assert(!b.is_over);
	ck_assert_int_eq(proxybody_take(&b, s, len), chunked[_i].used);
	ck_assert_int_eq(b.is_over, chunked[_i].is_over);
	if (chunked[_i].used == -1 || b.is_over)
		ck_assert_int_eq(proxybody_take(&b, s, len),
		    chunked[_i].used == -1 ? -1 : 0);
	/* The same byte by byte. */
	proxybody_start(&b, PROXYBODY_CHUNKED, 0);
	for (at = 0; at < len && !b.is_over && n != -1; at++)
		n = proxybody_take(&b, s + at, 1);
	ck_assert_int_eq(n == -1 ? -1 : (ssize_t)at, chunked[_i].used);
}
END_TEST

/* Lines without data have a bound together; data begins anew. */
START_TEST(test_endless)
{
	struct proxybody	 b;
	char			*s = malloc(LIMIT_NET_HEAD);

	ck_assert_ptr_nonnull(s);
	memset(s, 'x', LIMIT_NET_HEAD);
	memcpy(s, "1;", 2);
	proxybody_start(&b, PROXYBODY_CHUNKED, 0);
	ck_assert_int_eq(proxybody_take(&b, s, LIMIT_NET_HEAD),
	    LIMIT_NET_HEAD);
	ck_assert_int_eq(proxybody_take(&b, "\r", 1), -1);
	proxybody_start(&b, PROXYBODY_CHUNKED, 0);
	ck_assert_int_eq(proxybody_take(&b, s, LIMIT_NET_HEAD - 2),
	    LIMIT_NET_HEAD - 2);
	ck_assert_int_eq(proxybody_take(&b, "\r\na\r\n1;x", 8), 8);
	free(s);
}
END_TEST

START_TEST(test_plain)
{
	struct proxybody	 b;

	proxybody_start(&b, PROXYBODY_NONE, 0);
	ck_assert(b.is_over);
	ck_assert_int_eq(proxybody_take(&b, "abc", 3), 0);
	proxybody_start(&b, PROXYBODY_LENGTH, 0);
	ck_assert(b.is_over);
	proxybody_start(&b, PROXYBODY_LENGTH, 5);
	ck_assert(!b.is_over);
	ck_assert_int_eq(proxybody_take(&b, "abc", 3), 3);
	ck_assert(!b.is_over);
	ck_assert_int_eq(proxybody_take(&b, "defg", 4), 2);
	ck_assert(b.is_over);
	ck_assert_int_eq(proxybody_take(&b, "g", 1), 0);
	proxybody_start(&b, PROXYBODY_TO_END, 5);
	ck_assert_int_eq(proxybody_take(&b, "abcdefgh", 8), 8);
	ck_assert(!b.is_over);
}
END_TEST

/* --- SOCKS5 --- */

#define BYTES(s)	s, sizeof(s) - 1

static const struct {
	const char		*data;
	size_t			 len;
	enum socks5_result	 result;
	size_t			 used;
} greetings[] = {
	{ BYTES(""), SOCKS5_MORE, 0 },
	{ BYTES("\5"), SOCKS5_MORE, 0 },
	{ BYTES("\4"), SOCKS5_BAD, 0 },
	{ BYTES("\5\1"), SOCKS5_MORE, 0 },
	{ BYTES("\5\1\0"), SOCKS5_OK, 3 },
	{ BYTES("\5\2\2\0x"), SOCKS5_OK, 4 },
	{ BYTES("\5\2\2"), SOCKS5_MORE, 0 },
	{ BYTES("\5\1\2\0"), SOCKS5_REFUSED, 3 },
	{ BYTES("\5\0\0"), SOCKS5_REFUSED, 2 },
};

START_TEST(test_greeting)
{
	size_t	 used = 0;

	ck_assert_int_eq(socks5_greeting((const uint8_t *)greetings[_i].data,
	    greetings[_i].len, &used), greetings[_i].result);
	ck_assert_uint_eq(used, greetings[_i].used);
}
END_TEST

static const struct {
	const char		*data;
	size_t			 len;
	enum socks5_result	 result;
	const char		*host;
	uint16_t		 port;
	size_t			 used;
} connects[] = {
	{ BYTES(""), SOCKS5_MORE, NULL, 0, 0 },
	{ BYTES("\4"), SOCKS5_BAD, NULL, 0, 0 },
	{ BYTES("\5\1\1"), SOCKS5_BAD, NULL, 0, 0 },
	{ BYTES("\5\1\0\2"), SOCKS5_MORE, NULL, 0, 0 },
	{ BYTES("\5\1\0\2x"), SOCKS5_BAD, NULL, 0, 0 },
	{ BYTES("\5\1\0\1\x7f\0\0\1\1"), SOCKS5_MORE, NULL, 0, 0 },
	{ BYTES("\5\1\0\1\x7f\0\0\1\1\2x"), SOCKS5_OK, "127.0.0.1", 0x102,
	    10 },
	{ BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50"), SOCKS5_OK,
	    "::1", 80, 22 },
	{ BYTES("\5\1\0\3\1h\0\x50"), SOCKS5_OK, "h", 80, 8 },
	{ BYTES("\5\1\0\3\1h\0"), SOCKS5_MORE, NULL, 0, 0 },
	{ BYTES("\5\1\0\3\1h\0\0"), SOCKS5_BAD, NULL, 0, 8 },
	{ BYTES("\5\1\0\3\0\0\x50"), SOCKS5_BAD, NULL, 0, 0 },
	{ BYTES("\5\1\0\3\2h\0\0\x50"), SOCKS5_BAD, NULL, 80, 9 },
	{ BYTES("\5\1\0\3\5[::1]\0\x50"), SOCKS5_BAD, NULL, 80, 12 },
	{ BYTES("\5\1\0\3\3::1\0\x50"), SOCKS5_OK, "::1", 80, 10 },
	{ BYTES("\5\2\0\3\1h\0\x50"), SOCKS5_REFUSED, NULL, 80, 8 },
};

START_TEST(test_connect)
{
	struct nethost	 h;
	uint16_t	 port = 0;
	size_t		 used = 0;

	memset(&h, 0xff, sizeof(h));
	ck_assert_int_eq(socks5_request((const uint8_t *)connects[_i].data,
	    connects[_i].len, &h, &port, &used), connects[_i].result);
	ck_assert_uint_eq(used, connects[_i].used);
	ck_assert_uint_eq(port, connects[_i].port);
	if (connects[_i].host != NULL)
		ck_assert_str_eq(h.text, connects[_i].host);
}
END_TEST

START_TEST(test_socks_reply)
{
	struct netaddr	 four = { .family = AF_INET, .byte = { 1, 2, 3, 4 } };
	struct netaddr	 six = { .family = AF_INET6, .byte = { 9, [15] = 8 } };
	uint8_t		 text[SOCKS5_REPLY_MAX];

	memset(text, 0xff, sizeof(text));
	ck_assert_uint_eq(socks5_reply(SOCKS5_NOT_ALLOWED, NULL, 0, text),
	    10);
	ck_assert_mem_eq(text, "\5\2\0\1\0\0\0\0\0\0", 10);
	ck_assert_uint_eq(socks5_reply(SOCKS5_DONE, &four, 0x506, text), 10);
	ck_assert_mem_eq(text, "\5\0\0\1\1\2\3\4\5\6", 10);
	ck_assert_uint_eq(socks5_reply(SOCKS5_DONE, &six, 0x506, text), 22);
	ck_assert_mem_eq(text, "\5\0\0\4\t\0\0\0\0\0\0\0\0\0\0\0\0\0\0\b\5\6",
	    22);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxyhead");
	TCase	*t = tcase_create("all");
	SRunner	*r;
	int	 failed;

	tcase_add_loop_test(t, test_end, 0, N(ends));
	tcase_add_test(t, test_long);
	tcase_add_loop_test(t, test_many_lines, 0, 2);
	tcase_add_loop_test(t, test_request, 0, N(requests));
	tcase_add_loop_test(t, test_framed, 0, N(framed));
	tcase_add_loop_test(t, test_cut, 0, 4);
	tcase_add_loop_test(t, test_reply, 0, N(replies));
	tcase_add_loop_test(t, test_chunked, 0, N(chunked));
	tcase_add_test(t, test_endless);
	tcase_add_test(t, test_plain);
	tcase_add_loop_test(t, test_greeting, 0, N(greetings));
	tcase_add_loop_test(t, test_connect, 0, N(connects));
	tcase_add_test(t, test_socks_reply);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
