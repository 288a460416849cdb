#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/httphead.h"

#define HOST	"Host: 127.0.0.1:4000\r\n"
#define KEY	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION	"Sec-WebSocket-Version: 13\r\n"
#define WANT	"Connection: Upgrade\r\nUpgrade: websocket\r\n"
#define WS	WANT KEY VERSION
#define END	"\r\n"
#define GET	"GET / HTTP/1.1\r\n"
#define LIVEZ	"GET /livez HTTP/1.1\r\n"
#define READYZ	"GET /readyz HTTP/1.1\r\n"

#define LIVE	(-(int)HTTPHEAD_LIVE)
#define READY	(-(int)HTTPHEAD_READY)
#define UPGRADE	(-(int)HTTPHEAD_UPGRADE)

/* A status, or one of the above, and a head with all its NULs. */
static const struct sample {
	int		 want;
	size_t		 len;
	const char	*text;
} samples[] = {
#define ROW(want, text)	{ want, sizeof(text) - 1, text }
	/* what is right */
	ROW(UPGRADE, GET HOST WS END),
	ROW(UPGRADE, GET WS HOST END),
	ROW(UPGRADE, "GET /?a=b&c=/readyz HTTP/1.1\r\n" HOST WS END),
	ROW(UPGRADE, "GET /? HTTP/1.1\r\n" HOST WS END),
	ROW(UPGRADE, GET "hOST: localhost\r\ncONNECTION: uPGRADE\r\n"
	    "UPGRADE: WebSocket\r\nsec-websocket-key: "
	    "dGhlIHNhbXBsZSBub25jZQ==\r\nSEC-WEBSOCKET-VERSION: 13\r\n" END),
	ROW(UPGRADE, GET HOST "Connection: keep-alive, Upgrade\r\n"
	    "Upgrade: websocket\r\n" KEY VERSION END),
	ROW(UPGRADE, GET HOST "Connection:,\t, upgrade ,x\r\n"
	    "Upgrade:websocket\r\n" KEY VERSION END),
	ROW(UPGRADE, GET HOST "Connection: Upgrade\r\n"
	    "Connection: keep-alive\r\nUpgrade:  \t websocket \t\r\n"
	    KEY VERSION END),
	ROW(UPGRADE, GET HOST WS "Content-Length: 0\r\n" END),
	ROW(UPGRADE, GET HOST WS "Sec-WebSocket-Protocol: a, b\r\n"
	    "Sec-WebSocket-Protocol: c\r\n"
	    "Sec-WebSocket-Extensions: permessage-deflate\r\n" END),
	ROW(UPGRADE, GET HOST WS "X-Any: \x80\xff\tx\r\nX-Empty:\r\n"
	    "!#$%&'*+-.^_`|~09: x\r\n" END),
	ROW(LIVE, LIVEZ HOST END),
	ROW(READY, READYZ HOST END),
	ROW(LIVE, "HEAD /livez HTTP/1.1\r\n" HOST END),
	ROW(READY, "HEAD /readyz HTTP/1.1\r\n" HOST END),
	ROW(READY, "GET /readyz?verbose HTTP/1.1\r\n" HOST END),
	ROW(READY, READYZ HOST "Content-Length: 0\r\n" END),
	ROW(READY, READYZ HOST WS END),
	ROW(READY, READYZ HOST "Upgrade: h2c\r\n"
	    "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: \r\n" END),

	/* hosts that cannot be pointed here by their owner (N3) */
	ROW(READY, READYZ "Host: localhost\r\n" END),
	ROW(READY, READYZ "Host: LOCALHOST:1\r\n" END),
	ROW(READY, READYZ "Host: 127.0.0.1\r\n" END),
	ROW(READY, READYZ "Host: 192.168.1.255:65535\r\n" END),
	ROW(READY, READYZ "Host: [::1]\r\n" END),
	ROW(READY, READYZ "Host: [::1]:80\r\n" END),
	/* as long as an address can be, and one more */
	ROW(READY, READYZ "Host: [0000:0000:0000:0000:0000:ffff:"
	    "255.255.255.255]\r\n" END),
	ROW(403, READYZ "Host: [00000:0000:0000:0000:0000:ffff:"
	    "255.255.255.255]\r\n" END),
	ROW(READY, READYZ "Host: [2001:DB8::ffff:1.2.3.4]:80\r\n" END),
	ROW(READY, READYZ "Host:[0:0:0:0:0:0:0:0] \r\n" END),
	ROW(403, READYZ "Host: example.com\r\n" END),
	ROW(403, LIVEZ "Host: example.com:80\r\n" END),
	ROW(403, GET "Host: evil.example\r\n" WS END),
	ROW(403, "GET /x HTTP/1.1\r\nHost: example.com\r\n" END),
	ROW(403, "POST /x HTTP/1.1\r\nHost: example.com\r\n" END),
	ROW(403, READYZ "Host:\r\n" END),
	ROW(403, READYZ "Host: localhost.\r\n" END),
	ROW(403, READYZ "Host: localhost.example\r\n" END),
	ROW(403, READYZ "Host: xlocalhost\r\n" END),
	ROW(403, READYZ "Host: localhos\r\n" END),
	ROW(403, READYZ "Host: localhost:\r\n" END),
	ROW(403, READYZ "Host: localhost:65536\r\n" END),
	ROW(403, READYZ "Host: localhost:0x50\r\n" END),
	ROW(403, READYZ "Host: localhost:80:80\r\n" END),
	ROW(403, READYZ "Host: localhost:000080\r\n" END),
	ROW(403, READYZ "Host: localhost, localhost\r\n" END),
	ROW(403, READYZ "Host: localhost evil\r\n" END),
	ROW(403, READYZ "Host: localhost/x\r\n" END),
	ROW(403, READYZ "Host: me@localhost\r\n" END),
	ROW(403, READYZ "Host: http://localhost\r\n" END),
	ROW(403, READYZ "Host: 127.1\r\n" END),
	ROW(403, READYZ "Host: 2130706433\r\n" END),
	ROW(403, READYZ "Host: 0x7f.0.0.1\r\n" END),
	ROW(403, READYZ "Host: 127.0.0.1.\r\n" END),
	ROW(403, READYZ "Host: 127.0.0.256\r\n" END),
	ROW(403, READYZ "Host: 127.0.0.1.nip.io\r\n" END),
	ROW(403, READYZ "Host: ::1\r\n" END),
	ROW(403, READYZ "Host: [::1\r\n" END),
	ROW(403, READYZ "Host: [::1]80\r\n" END),
	ROW(403, READYZ "Host: [::1]:\r\n" END),
	ROW(403, READYZ "Host: [::1]]\r\n" END),
	ROW(403, READYZ "Host: []\r\n" END),
	ROW(403, READYZ "Host: [\r\n" END),
	ROW(403, READYZ "Host: [127.0.0.1]\r\n" END),
	ROW(403, READYZ "Host: [fe80::1%25eth0]\r\n" END),
	ROW(403, READYZ "Host: [v1.x]\r\n" END),
	ROW(403, READYZ "Host: [1111:2222:3333:4444:5555:6666:7777:8888:"
	    "9999:aaaa:bbbb:cccc]\r\n" END),

	/* browsers (N2): any Origin, any path, also beside other faults */
	ROW(403, GET HOST WS "Origin: http://evil.example\r\n" END),
	ROW(403, GET HOST WS "Origin: null\r\n" END),
	ROW(403, GET HOST WS "Origin: http://127.0.0.1:4000\r\n" END),
	ROW(403, GET HOST WS "origin:\r\n" END),
	ROW(403, GET "ORIGIN: x\r\n" HOST WS END),
	ROW(403, GET HOST WS "Origin: a\r\nOrigin: b\r\n" END),
	ROW(403, READYZ HOST "Origin: null\r\n" END),
	ROW(403, LIVEZ HOST "Origin: null\r\n" END),
	ROW(403, "GET /nothing HTTP/1.1\r\n" HOST "Origin: x\r\n" END),
	ROW(403, "OPTIONS / HTTP/1.1\r\n" HOST "Origin: x\r\n" END),
	ROW(403, "POST / HTTP/1.1\r\n" HOST "Origin: x\r\n"
	    "Content-Length: 5\r\n" END),
	ROW(400, READYZ HOST "Origin : null\r\n" END),

	/* paths */
	ROW(404, "GET /readyz/ HTTP/1.1\r\n" HOST END),
	ROW(404, "GET /healthz HTTP/1.1\r\n" HOST END),
	ROW(404, "GET /metrics HTTP/1.1\r\n" HOST WS END),
	ROW(404, "GET // HTTP/1.1\r\n" HOST WS END),
	ROW(404, "GET /. HTTP/1.1\r\n" HOST WS END),
	ROW(404, "GET /x/../readyz HTTP/1.1\r\n" HOST END),
	ROW(404, "GET /READYZ HTTP/1.1\r\n" HOST END),
	ROW(404, "GET /%72eadyz HTTP/1.1\r\n" HOST END),
	ROW(404, "GET /ready HTTP/1.1\r\n" HOST END),
	ROW(404, "GET /readyz;x HTTP/1.1\r\n" HOST END),
	ROW(404, "POST /nothing HTTP/1.1\r\n" HOST END),

	/* methods */
	ROW(405, "POST /readyz HTTP/1.1\r\n" HOST END),
	ROW(405, "POST /readyz HTTP/1.1\r\n" HOST "Content-Length: 3\r\n" END),
	ROW(405, "POST / HTTP/1.1\r\n" HOST WS END),
	ROW(405, "HEAD / HTTP/1.1\r\n" HOST WS END),
	ROW(405, "get / HTTP/1.1\r\n" HOST WS END),
	ROW(405, "OPTIONS /livez HTTP/1.1\r\n" HOST END),
	ROW(405, "GETX / HTTP/1.1\r\n" HOST WS END),
	ROW(405, "CONNECT 127.0.0.1:22 HTTP/1.1\r\n" HOST END),
	ROW(405, "CONNECT example.com:443 HTTP/1.1\r\n" HOST END),
	ROW(403, "CONNECT example.com:443 HTTP/1.1\r\n"
	    "Host: example.com:443\r\n" END),

	/* no WebSocket (N10 and others) */
	ROW(400, GET HOST END),
	ROW(400, GET HOST "Upgrade: websocket\r\n" KEY VERSION END),
	ROW(400, GET HOST "Connection: Upgrade\r\n" KEY VERSION END),
	ROW(400, GET HOST "Connection: close\r\nUpgrade: websocket\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Connection: Upgradex\r\nUpgrade: websocket\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Connection: x upgrade\r\nUpgrade: websocket\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Connection:\r\nUpgrade: websocket\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Connection: Upgrade, HTTP2-Settings\r\n"
	    "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n" END),
	ROW(400, GET HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Connection: Upgrade\r\nUpgrade: websocket/13\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Connection: Upgrade\r\nUpgrade:\r\n"
	    KEY VERSION END),
	ROW(400, GET HOST "Upgrade: h2c\r\n" WS END),
	ROW(400, GET HOST WANT KEY END),
	ROW(400, GET HOST WANT KEY "Sec-WebSocket-Version: 12\r\n" END),
	ROW(400, GET HOST WANT KEY "Sec-WebSocket-Version: 8\r\n" END),
	ROW(400, GET HOST WANT KEY "Sec-WebSocket-Version: 013\r\n" END),
	ROW(400, GET HOST WANT KEY "Sec-WebSocket-Version: 13, 8\r\n" END),
	ROW(400, GET HOST WANT KEY "Sec-WebSocket-Version:\r\n" END),
	ROW(400, GET HOST WANT KEY VERSION VERSION END),
	/* keys */
	ROW(400, GET HOST WANT VERSION END),
	ROW(400, GET HOST WANT VERSION "Sec-WebSocket-Key:\r\n" END),
	ROW(400, GET HOST WS KEY END),
	ROW(400, GET HOST WANT VERSION
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n" END),
	ROW(400, GET HOST WANT VERSION
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n" END),
	ROW(400, GET HOST WANT VERSION
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQAA\r\n" END),
	ROW(400, GET HOST WANT VERSION
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQA=\r\n" END),
	ROW(400, GET HOST WANT VERSION
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n" END),
	ROW(400, GET HOST WANT VERSION
	    "Sec-WebSocket-Key: dGhl-HNhbXBsZSBub25jZQ==\r\n" END),
	ROW(400, GET HOST WANT VERSION
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==,x\r\n" END),

	/* the request line */
	ROW(400, END),
	ROW(400, END END),
	ROW(400, END GET HOST WS END),
	ROW(400, "GET\r\n" HOST END),
	ROW(400, "GET \r\n" HOST END),
	ROW(400, "GET /\r\n\r\n"),
	ROW(400, "GET / \r\n" HOST END),
	ROW(400, "GET  / HTTP/1.1\r\n" HOST END),
	ROW(400, "GET /  HTTP/1.1\r\n" HOST END),
	ROW(400, "GET / HTTP/1.1 \r\n" HOST END),
	ROW(400, " GET / HTTP/1.1\r\n" HOST END),
	ROW(400, "GET\t/\tHTTP/1.1\r\n" HOST END),
	ROW(400, "GET / x HTTP/1.1\r\n" HOST END),
	ROW(400, "G@T / HTTP/1.1\r\n" HOST END),
	ROW(400, "G\xc3\x89T / HTTP/1.1\r\n" HOST END),
	ROW(400, " / HTTP/1.1\r\n" HOST END),
	ROW(400, "GET * HTTP/1.1\r\n" HOST END),
	ROW(400, "OPTIONS * HTTP/1.1\r\n" HOST END),
	ROW(400, "GET http://127.0.0.1/ HTTP/1.1\r\n" HOST WS END),
	ROW(400, "GET readyz HTTP/1.1\r\n" HOST END),
	ROW(400, "GET ?x HTTP/1.1\r\n" HOST END),
	ROW(400, "GET /#x HTTP/1.1\r\n" HOST WS END),
	ROW(400, "GET /\xc3\xa9 HTTP/1.1\r\n" HOST END),
	ROW(400, "GET /\x7f HTTP/1.1\r\n" HOST END),
	ROW(400, "GET /\0 HTTP/1.1\r\n" HOST END),
	ROW(400, "GET / http/1.1\r\n" HOST WS END),
	ROW(400, "GET / HTTP/1\r\n" HOST WS END),
	ROW(400, "GET / HTTP/1.10\r\n" HOST WS END),
	ROW(400, "GET / HTTP/x.1\r\n" HOST WS END),
	ROW(400, "GET / HTTP/1.x\r\n" HOST WS END),
	ROW(400, "GET / HTTP/1,1\r\n" HOST WS END),
	ROW(505, "GET / HTTP/1.0\r\n" HOST WS END),
	ROW(505, "GET /readyz HTTP/1.0\r\n\r\n"),
	ROW(505, "GET / HTTP/1.2\r\n" HOST WS END),
	ROW(505, "GET / HTTP/2.0\r\n" HOST WS END),
	ROW(505, "GET / HTTP/0.9\r\nOrigin: x\r\n" HOST END),
	/* HTTP/2 preface */
	ROW(400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	ROW(400, "PRI * HTTP/2.0\r\n\r\n"),

	/* header lines (N9) */
	ROW(400, GET WS END),
	ROW(400, READYZ END),
	ROW(400, GET HOST HOST WS END),
	ROW(400, READYZ HOST "host: localhost\r\n" END),
	ROW(400, READYZ "Host : localhost\r\n" END),
	ROW(400, READYZ HOST " folded: x\r\n" END),
	ROW(400, READYZ "Host: localhost\r\n\tfolded\r\n" END),
	ROW(400, READYZ "Host:\r\n localhost\r\n" END),
	ROW(400, READYZ " Host: localhost\r\n" END),
	ROW(400, READYZ HOST "no colon\r\n" END),
	ROW(400, READYZ HOST "nocolon\r\n" END),
	ROW(400, READYZ HOST ": no name\r\n" END),
	ROW(400, READYZ HOST "a b: x\r\n" END),
	ROW(400, READYZ HOST "a\tb: x\r\n" END),
	ROW(400, READYZ HOST "a(b): x\r\n" END),
	ROW(400, READYZ HOST "\xc3\xa9: x\r\n" END),
	ROW(400, READYZ HOST "X: a\0b\r\n" END),
	ROW(400, READYZ HOST "X\0: a\r\n" END),
	ROW(400, READYZ HOST "X: a\x01\r\n" END),
	ROW(400, READYZ HOST "X: a\x7f\r\n" END),
	ROW(400, READYZ HOST "X: a\rb\r\n" END),
	ROW(400, READYZ HOST "X: a\r\r\n" END),
	ROW(400, READYZ HOST "\r\r\n" END),
	ROW(400, READYZ HOST "X: a\nY: b\r\n" END),
	ROW(400, READYZ HOST "X: a\n\r\n"),
	ROW(400, READYZ "Host: localhost\n\r\n"),
	ROW(400, "GET /readyz HTTP/1.1\n" HOST END),
	ROW(400, "GET /readyz HTTP/1.1\rHost: localhost\r\n" END),
	/* one head, whole: an end in the midst, or none */
	ROW(400, READYZ HOST END "x"),
	ROW(400, READYZ HOST END READYZ HOST END),
	ROW(400, READYZ HOST),
	ROW(400, READYZ),
	ROW(400, "GET /readyz HTTP/1.1"),
	ROW(400, ""),
	ROW(400, "\r"),
	ROW(400, "\n"),
	/* bodies */
	ROW(400, READYZ HOST "Transfer-Encoding: chunked\r\n" END),
	ROW(400, GET HOST WS "transfer-encoding: identity\r\n" END),
	ROW(400, GET HOST WS "Transfer-Encoding:\r\n" END),
	ROW(400, GET HOST WS "Content-Length: 1\r\n" END),
	ROW(400, READYZ HOST "Content-Length: 10\r\n" END),
	ROW(400, READYZ HOST "Content-Length:\r\n" END),
	ROW(400, READYZ HOST "Content-Length: -0\r\n" END),
	ROW(400, READYZ HOST "Content-Length: +0\r\n" END),
	ROW(400, READYZ HOST "Content-Length: 0x0\r\n" END),
	ROW(400, READYZ HOST "Content-Length: 0, 0\r\n" END),
	ROW(400, READYZ HOST "Content-Length: 18446744073709551616\r\n" END),
	ROW(400, READYZ HOST "Content-Length: 0\r\nContent-Length: 0\r\n" END),

	/* tokens (N6); that they are right is decided elsewhere */
	ROW(UPGRADE, GET HOST WS "Authorization: Bearer x\r\n" END),
	ROW(400, GET HOST WS "Authorization: Bearer x\r\n"
	    "authorization: Bearer x\r\n" END),
	ROW(400, GET HOST WS "Authorization: Bearer x\0y\r\n" END),

	/* other protocols (N10) */
	ROW(400, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
	ROW(400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
	ROW(400, "EHLO there\r\n\r\n"),
};

START_TEST(test_samples)
{
	const struct sample	*s = &samples[_i];
	struct httphead		 h;
	char			*text;
	int			 got;

	/* An allocation of its own: reading on is found under a sanitizer. */
	text = malloc(s->len + (s->len == 0));
	ck_assert(text != NULL);
	memcpy(text, s->text, s->len);
	memset(&h, 0xa5, sizeof(h));
	httphead_judge(text, s->len, NULL, 0, &h);
	got = h.kind == HTTPHEAD_ERROR ? h.status : -(int)h.kind;
	ck_assert_msg(got == s->want, "%d, not %d, for: %.*s", got, s->want,
	    (int)s->len, s->text);
	ck_assert_int_eq(h.kind == HTTPHEAD_ERROR, h.status != 0);
	ck_assert_int_eq(h.is_head, s->len > 4 &&
	    memcmp(text, "HEAD ", 5) == 0);
	if (h.kind == HTTPHEAD_UPGRADE) {
		ck_assert_uint_eq(h.key_len, 24);
		ck_assert_mem_eq(h.key, "dGhlIHNhbXBsZSBub25jZQ==", 24);
	}
	if (h.kind == HTTPHEAD_ERROR)
		ck_assert(h.key == NULL && h.auth == NULL);
	free(text);
}
END_TEST

/* At each place of a good head, no control character passes. */
START_TEST(test_controls)
{
	static const char	 good[] = GET HOST WS "X: y\r\n" END;
	struct httphead		 h;
	char			 text[sizeof(good)];
	size_t			 at;
	int			 c;

	for (at = 0; at < sizeof(good) - 1; at++)
		for (c = 0; c < 128; c = c == 31 ? 127 : c + 1) {
			memcpy(text, good, sizeof(good));
			if (text[at] == c)
				continue;
			text[at] = (char)c;
			httphead_judge(text, sizeof(good) - 1, NULL, 0, &h);
			/* a tab is a blank where blanks may be */
			if (c == '\t' && at > 0 &&
			    (strchr(": ", good[at - 1]) != NULL ||
			    good[at + 1] == '\r'))
				continue;
			ck_assert_msg(h.kind == HTTPHEAD_ERROR &&
			    (h.status == 400 || (h.status == 403 &&
			    c == '\t')), "%d at %zu: %d", c, at, h.status);
		}
}
END_TEST

START_TEST(test_auth)
{
	struct httphead	 h;
	const char	*text = READYZ HOST
			    "Authorization: \t Bearer  a b \r\n" END;

	httphead_judge(text, strlen(text), NULL, 0, &h);
	ck_assert_int_eq(h.kind, HTTPHEAD_READY);
	ck_assert_uint_eq(h.auth_len, 11);
	ck_assert_mem_eq(h.auth, "Bearer  a b", 11);
	text = READYZ HOST "Authorization:\r\n" END;
	httphead_judge(text, strlen(text), NULL, 0, &h);
	ck_assert(h.auth != NULL && h.auth_len == 0);
	/* nowhere else */
	text = "GET /?token=x HTTP/1.1\r\n" HOST WS
	    "Sec-WebSocket-Protocol: Bearer x\r\nCookie: token=x\r\n"
	    "Proxy-Authorization: Bearer x\r\n" END;
	httphead_judge(text, strlen(text), NULL, 0, &h);
	ck_assert_int_eq(h.kind, HTTPHEAD_UPGRADE);
	ck_assert(h.auth == NULL && h.auth_len == 0);
}
END_TEST

/* NULL: another scheme; empty: a bearer, but no token. */
static const struct {
	const char	*value;
	const char	*token;
} bearers[] = {
	{ "Bearer abc", "abc" }, { "bearer abc", "abc" },
	{ "BEARER    a.b-c_d~e+f/g=", "a.b-c_d~e+f/g=" },
	{ "Bearer a,b", "a,b" },
	{ "Bearer", "" }, { "Bearer ", "" }, { "Bearer a b", "" },
	{ "Bearer \"a\\x\"", "\"a\\x\"" }, { "Bearer a\tb", "" },
	{ "Bearer \xc3\xa4", "" }, { "Bearer a\x80", "" },
	{ "", NULL }, { "Bearer\tabc", NULL }, { "Bearerabc", NULL },
	{ "Basic abc", NULL }, { "abc", NULL }, { "Bear er abc", NULL },
};

START_TEST(test_bearer)
{
	struct httphead	 h;
	struct span	 token;
	char		 text[256];
	size_t		 n;
	bool		 has;

	n = (size_t)snprintf(text, sizeof(text), "%s%sAuthorization: %s\r\n%s",
	    READYZ, HOST, bearers[_i].value, END);
	httphead_judge(text, n, NULL, 0, &h);
	ck_assert_int_eq(h.kind, HTTPHEAD_READY);
	has = httphead_bearer(&h, &token);
	ck_assert_int_eq(has, bearers[_i].token != NULL);
	ck_assert(span_is(token, has ? bearers[_i].token : ""));
}
END_TEST

START_TEST(test_no_bearer)
{
	struct httphead	 h;
	struct span	 token;

	httphead_judge(READYZ HOST END, strlen(READYZ HOST END), NULL, 0, &h);
	ck_assert(!httphead_bearer(&h, &token));
	ck_assert_uint_eq(token.len, 0);
}
END_TEST

/* What we are called besides; nothing else of theirs. */
static const struct {
	const char	*host;
	int		 status;
} called[] = {
	{ "build.example.org", 0 }, { "BUILD.Example.org:8080", 0 },
	{ "b", 0 }, { "localhost", 0 }, { "192.0.2.1:1", 0 }, { "[::1]", 0 },
	{ "build.example.org.", 403 }, { "example.org", 403 },
	{ "build.example.org:x", 403 }, { "build.example.org:", 403 },
	{ "xbuild.example.org", 403 }, { "bb", 403 }, { "", 403 },
	{ ":80", 403 },
};

START_TEST(test_names)
{
	char		*names[] = { (char []){ "build.example.org" },
			    (char []){ "B" } };
	struct httphead	 h;
	char		 text[256];
	size_t		 n;

	n = (size_t)snprintf(text, sizeof(text), "%sHost: %s\r\n%s",
	    READYZ, called[_i].host, END);
	httphead_judge(text, n, names, 2, &h);
	ck_assert_int_eq(h.status, called[_i].status);
}
END_TEST

/* A head of a request line, HOST, and lines up to len bytes in all. */
static void
long_head(char *text, size_t len)
{
	size_t	 n = strlen(READYZ HOST "X: ");

	memcpy(text, READYZ HOST "X: ", n);
	memset(text + n, 'x', len - n - 4);
	memcpy(text + len - 4, "\r\n\r\n", 4);
}

START_TEST(test_limits)
{
	static char	 text[1 << 20];
	struct httphead	 h;
	size_t		 n;
	int		 i, lines;

	long_head(text, HTTPHEAD_MAX);
	ck_assert_uint_eq(httphead_end(text, HTTPHEAD_MAX), HTTPHEAD_MAX);
	httphead_judge(text, HTTPHEAD_MAX, NULL, 0, &h);
	ck_assert_int_eq(h.kind, HTTPHEAD_READY);
	long_head(text, HTTPHEAD_MAX + 1);
	httphead_judge(text, HTTPHEAD_MAX + 1, NULL, 0, &h);
	ck_assert_int_eq(h.status, 431);
	long_head(text, sizeof(text));
	httphead_judge(text, sizeof(text), NULL, 0, &h);
	ck_assert_int_eq(h.status, 431);
	/* too long already: no use to wait for its end */
	ck_assert_uint_eq(httphead_end(text, HTTPHEAD_MAX), 0);
	n = httphead_end(text, HTTPHEAD_MAX + 1);
	ck_assert_uint_eq(n, HTTPHEAD_MAX + 1);
	httphead_judge(text, n, NULL, 0, &h);
	ck_assert_int_eq(h.status, 431);

	for (lines = 99; lines <= 101; lines++) {
		n = (size_t)sprintf(text, "%s%s", READYZ, HOST);
		for (i = 1; i < lines; i++)
			n += (size_t)sprintf(text + n, "X%d:\r\n", i);
		n += (size_t)sprintf(text + n, "\r\n");
		httphead_judge(text, n, NULL, 0, &h);
		ck_assert_int_eq(h.status,
		    lines <= HTTPHEAD_LINES_MAX ? 0 : 431);
	}
}
END_TEST

/* Complete at the last byte and not before, whatever follows. */
START_TEST(test_end)
{
	static const char	 text[] = GET HOST WS END "\x81\x80\r\n\r\n";
	size_t			 n = strlen(GET HOST WS END), len;

	for (len = 0; len < n; len++)
		ck_assert_uint_eq(httphead_end(text, len), 0);
	for (; len < sizeof(text); len++)
		ck_assert_uint_eq(httphead_end(text, len), n);
	ck_assert_uint_eq(httphead_end(NULL, 0), 0);
}
END_TEST

static const struct beginning {
	bool		 hopeless;
	size_t		 len;
	const char	*text;
} beginnings[] = {
#define WAIT(text)	{ false, sizeof(text) - 1, text }
#define GIVE_UP(text)	{ true, sizeof(text) - 1, text }
	WAIT("G"), WAIT("GET / HTTP/1.1\r"), WAIT(GET), WAIT(GET "\r"),
	WAIT(GET HOST), WAIT(GET "X: \x80\t"), WAIT("anything at all"),
	/* TLS ClientHello, SSH, bare LF, bare CR, NUL, HTTP/0.9 */
	GIVE_UP("\x16\x03\x01\x02\x00\x01"), GIVE_UP("\x16"),
	GIVE_UP("SSH-2.0-OpenSSH_9.2p1\r\n"),
	GIVE_UP("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n"),
	GIVE_UP("GET / HTTP/1.1\n"), GIVE_UP(GET "Host: x\n"),
	GIVE_UP("GET / HTTP/1.1\nHost: localhost\n\n"),
	GIVE_UP("GET / HTTP/1.1\rH"), GIVE_UP(GET "Host: x\rX"),
	GIVE_UP(GET "\rX"), GIVE_UP("GET /\0"), GIVE_UP(GET "X: \0"),
	GIVE_UP("GET /\r\n"), GIVE_UP("\r\n"), GIVE_UP("\n"), GIVE_UP("\r\r"),
	GIVE_UP(GET "X: y\r\nZ: y\x7f"), GIVE_UP("GET * HTTP/1.1\r\n"),
	GIVE_UP("GET / HTTP/1.0\r\n"), GIVE_UP("\xff\xfd\x18\x00"),
	GIVE_UP("\x00"), GIVE_UP("\x81\x85\x01\x02\x03\x04hello"),
};

START_TEST(test_beginnings)
{
	const struct beginning	*b = &beginnings[_i];
	struct httphead		 h;

	ck_assert_uint_eq(httphead_end(b->text, b->len),
	    b->hopeless ? b->len : 0);
	httphead_judge(b->text, b->len, NULL, 0, &h);
	ck_assert_int_eq(h.kind, HTTPHEAD_ERROR);
}
END_TEST

START_TEST(test_switch)
{
	static const char	 want[] = "HTTP/1.1 101 Switching Protocols"
				    "\r\nUpgrade: websocket\r\n"
				    "Connection: Upgrade\r\n"
				    "Sec-WebSocket-Accept: "
				    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
	struct httphead		 h;
	char			 out[256], accept[HTTPHEAD_ACCEPT_LEN];
	size_t			 n;

	httphead_accept("dGhlIHNhbXBsZSBub25jZQ==", 24, accept);
	ck_assert_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	httphead_judge(GET HOST WS END, strlen(GET HOST WS END), NULL, 0, &h);
	n = httphead_switch(&h, out, sizeof(out));
	ck_assert_uint_eq(n, sizeof(want) - 1);
	ck_assert_str_eq(out, want);
}
END_TEST

/* Where figures are told there is /metrics, and no WebSocket. */
START_TEST(test_metrics)
{
	static const struct {
		const char	*text;
		int		 there, elsewhere;
	} rows[] = {
		{ "GET /metrics HTTP/1.1\r\n" HOST END,
		    -(int)HTTPHEAD_METRICS, 404 },
		{ "HEAD /metrics?a HTTP/1.1\r\n" HOST WS END,
		    -(int)HTTPHEAD_METRICS, 404 },
		{ "POST /metrics HTTP/1.1\r\n" HOST END, 405, 404 },
		{ "GET /metrics HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
		    END, 400, 404 },
		{ "GET /metrics/ HTTP/1.1\r\n" HOST END, 404, 404 },
		{ "GET /metrics HTTP/1.1\r\nHost: evil\r\n" END, 403, 403 },
		{ "GET /metrics HTTP/1.1\r\n" HOST "Origin: x\r\n" END, 403,
		    403 },
		{ GET HOST WS END, 404, UPGRADE },
		{ GET HOST END, 404, 400 },
		{ LIVEZ HOST END, LIVE, LIVE },
		{ READYZ HOST END, READY, READY },
	};
	static const char	 named[] = "GET /metrics HTTP/1.1\r\n"
				    "Host: Box.example\r\n" END;
	char			 name[] = "box.example", *names[] = { name };
	struct httphead		 h;
	size_t			 i;

	httphead_judge_metrics(named, strlen(named), NULL, 0, &h);
	ck_assert(h.kind == HTTPHEAD_ERROR && h.status == 403);
	httphead_judge_metrics(named, strlen(named), names, 1, &h);
	ck_assert_int_eq(h.kind, HTTPHEAD_METRICS);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		httphead_judge_metrics(rows[i].text, strlen(rows[i].text),
		    NULL, 0, &h);
		ck_assert_int_eq(h.kind == HTTPHEAD_ERROR ? h.status :
		    -(int)h.kind, rows[i].there);
		httphead_judge(rows[i].text, strlen(rows[i].text), NULL, 0,
		    &h);
		ck_assert_int_eq(h.kind == HTTPHEAD_ERROR ? h.status :
		    -(int)h.kind, rows[i].elsewhere);
	}
}
END_TEST

START_TEST(test_page)
{
	static const char	 want[] = "HTTP/1.1 200 OK\r\n"
				    "Content-Type: a/b\r\n"
				    "Content-Length: 17\r\n"
				    "Connection: close\r\n\r\n";
	char			 out[256];

	ck_assert_uint_eq(httphead_page("a/b", 17, out, sizeof(out)),
	    sizeof(want) - 1);
	ck_assert_str_eq(out, want);
	ck_assert_uint_eq(httphead_page("a/b", 17, out, 9), 8);
	ck_assert_str_eq(out, "HTTP/1.1");
}
END_TEST

START_TEST(test_answers)
{
	static const int	 statuses[] = { 200, 400, 401, 403, 404, 405,
				    408, 426, 429, 431, 503, 505 };
	char			 out[512], head[512], start[32], length[64];
	char			*body;
	size_t			 i, n, size;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		n = httphead_answer(statuses[i], NULL, false, out,
		    sizeof(out));
		ck_assert_uint_eq(n, strlen(out));
		snprintf(start, sizeof(start), "HTTP/1.1 %d ", statuses[i]);
		ck_assert_mem_eq(out, start, strlen(start));
		ck_assert_ptr_nonnull(strstr(out, "\r\nConnection: close\r\n"));
		body = strstr(out, "\r\n\r\n");
		ck_assert_ptr_nonnull(body);
		body += 4;
		ck_assert_int_eq(*body == '\0', statuses[i] == 200);
		snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n",
		    strlen(body));
		ck_assert_ptr_nonnull(strstr(out, length));
		ck_assert_int_eq(strstr(out, "\r\nAllow: GET,HEAD\r\n") != NULL,
		    statuses[i] == 405);
		ck_assert_int_eq(strstr(out, "\r\nUpgrade: websocket\r\n")
		    != NULL, statuses[i] == 426);
		ck_assert_int_eq(strstr(out, "\r\nWWW-Authenticate: Bearer\r\n")
		    != NULL, statuses[i] == 401);
		/* the same head for HEAD, without the body */
		n = httphead_answer(statuses[i], NULL, true, head,
		    sizeof(head));
		ck_assert_uint_eq(n, (size_t)(body - out));
		ck_assert_mem_eq(head, out, n);
		ck_assert_int_eq(head[n], '\0');
		/* too little room: cut, terminated, never beyond */
		for (size = 0; size <= n; size++) {
			memset(head, 0x5a, sizeof(head));
			n = httphead_answer(statuses[i], NULL, false, head,
			    size);
			ck_assert_uint_eq(n, size == 0 ? 0 : size - 1);
			ck_assert_mem_eq(head, out, n);
			ck_assert_int_eq(head[size], 0x5a);
			n = (size_t)(body - out);
		}
	}
	httphead_answer(403, "unknown user", false, out, sizeof(out));
	ck_assert_ptr_nonnull(strstr(out, "\r\nContent-Length: 24\r\n"));
	ck_assert_ptr_nonnull(strstr(out, "\r\n\r\nForbidden: unknown user\n"));
	httphead_answer(200, "good", false, out, sizeof(out));
	ck_assert_ptr_null(strstr(out, "good"));
	httphead_answer(299, "", false, out, sizeof(out));
	ck_assert_mem_eq(out, "HTTP/1.1 500 ", 13);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("httphead");
	TCase	*t = tcase_create("httphead");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_samples, 0,
	    (int)(sizeof(samples) / sizeof(samples[0])));
	tcase_add_test(t, test_controls);
	tcase_add_test(t, test_metrics);
	tcase_add_test(t, test_page);
	tcase_add_test(t, test_auth);
	tcase_add_loop_test(t, test_bearer, 0,
	    sizeof(bearers) / sizeof(bearers[0]));
	tcase_add_test(t, test_no_bearer);
	tcase_add_loop_test(t, test_names, 0,
	    sizeof(called) / sizeof(called[0]));
	tcase_add_test(t, test_limits);
	tcase_add_test(t, test_end);
	tcase_add_loop_test(t, test_beginnings, 0,
	    (int)(sizeof(beginnings) / sizeof(beginnings[0])));
	tcase_add_test(t, test_switch);
	tcase_add_test(t, test_answers);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
