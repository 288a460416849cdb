/*
 * common/client: URLs, upgrades, and whatever a server may say, over a
 * socketpair whose other end is the test.  A server's frames are written with
 * peer_say(), the client's read with peer_heard().
 *
 * lint-ok: long, as one pair of ends serves every case.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/client/ask.h"
#include "common/client/error.h"
#include "common/clock.h"
#include "common/json/b64.h"
#include "common/limit.h"
#include "common/net/httphead.h"
#include "config.h"
#include "t/unit/peer_help.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define KEY		PEER_KEY
#define ACCEPT		"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define NOBODY		"ws://127.0.0.1:1"
#define UPGRADED	"HTTP/1.1 101 Switching Protocols\r\n" \
			"Upgrade: websocket\r\n" \
			"Connection: Upgrade\r\n" \
			"Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n"

static struct execsrv_process	*p;

/* --- URLs --- */

static const struct {
	const char	*text;
	int		 family;
	unsigned	 port;
	const char	*host, *path;
	bool		 is_local, is_name;
} urls[] = {
	{ "ws://127.0.0.1:80", AF_INET, 80, "127.0.0.1:80", "/", true,
	    false },
	{ "ws://127.9.9.9:65535/", AF_INET, 65535, "127.9.9.9:65535", "/",
	    true, false },
	{ "ws://10.1.2.3:1/a/b?c=d&e", AF_INET, 1, "10.1.2.3:1", "/a/b?c=d&e",
	    false, false },
	{ "ws://10.1.2.3:1?c", AF_INET, 1, "10.1.2.3:1", "/?c", false,
	    false },
	{ "ws://localhost:8080", AF_INET, 8080, "localhost:8080", "/", true,
	    true },
	{ "ws://[::1]:99/x", AF_INET6, 99, "[::1]:99", "/x", true, false },
	{ "ws://[2001:db8::7]:99", AF_INET6, 99, "[2001:db8::7]:99", "/",
	    false, false },
	{ "unix:/run/x y/z", AF_UNIX, 0, "localhost", "/", true, false },
	{ "unix:relative", AF_UNIX, 0, "localhost", "/", true, false },
};

START_TEST(test_url)
{
	struct execsrv_address	 u;
	struct execsrv_error	 e;
	const char		*text = urls[_i].text;

	ck_assert_int_eq(execsrv_address_parse(text, &u, &e), 0);
	ck_assert_int_eq(u.addr.any.sa_family, urls[_i].family);
	ck_assert_str_eq(u.host, urls[_i].host);
	ck_assert_str_eq(u.path, urls[_i].path);
	ck_assert_int_eq(u.is_local, urls[_i].is_local);
	ck_assert_int_eq(u.is_name, urls[_i].is_name);
	if (urls[_i].family == AF_UNIX)
		ck_assert_str_eq(u.addr.un.sun_path, text + 5);
	else	/* at the same place in both */
		ck_assert_uint_eq(ntohs(u.addr.in.sin_port), urls[_i].port);
}
END_TEST

static const char *const	 bad_urls[] = {
	"", "ws:", "ws://", "wss://127.0.0.1:1", "http://127.0.0.1:1",
	"WSX://127.0.0.1:1", " ws://127.0.0.1:1", "unix:", "unix",
	"ws://127.0.0.1", "ws://127.0.0.1:", "ws://127.0.0.1:0",
	"ws://127.0.0.1:65536", "ws://127.0.0.1:-1", "ws://127.0.0.1:+1",
	"ws://127.0.0.1:1x", "ws://127.0.0.1: 1", "ws://127.0.0.1:99999999999",
	"ws://:1", "ws://127.0.0:1", "ws://127.0.0.1.1:1", "ws://0x7f.1:1",
	"ws://example.org:1", "ws://localhost.:1", "ws://user@127.0.0.1:1",
	"ws://127.0.0.1:1:1", "ws://::1:1", "ws://[::1]", "ws://[::1:1",
	"ws://[::1]1", "ws://[]:1", "ws://[127.0.0.1]:1", "ws://[::1%lo]:1",
	"ws://[localhost]:1", "ws://127.0.0.1:1/#a", "ws://127.0.0.1:1/a b",
	"ws://127.0.0.1:1/a\r\nX: y", "ws://127.0.0.1:1\r\nX: y",
	"ws://127.0.0.1\r\nX: y:1", "ws://127.0.0.1:1/\xc3\xa9",
	"ws://127.0.0.1:1/\x7f",
};

START_TEST(test_bad_url)
{
	struct execsrv_address	 u;
	struct execsrv_error	 e;

	ck_assert_int_eq(execsrv_address_parse(bad_urls[_i], &u, &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "expected ws://"));
	ck_assert_ptr_nonnull(strstr(e.text, "remote:ENV"));
	ck_assert_ptr_null(strchr(e.text, '\n'));
	ck_assert_ptr_null(execsrv_open(bad_urls[_i], NULL, &e));
}
END_TEST

START_TEST(test_long_url)
{
	struct execsrv_address	 u;
	struct execsrv_error	 e;
	char			 text[2048], request[1024];
	size_t			 n;

	for (n = 1; n < 200; n++) {
		snprintf(text, sizeof(text), "unix:%0*d", (int)n, 0);
		ck_assert_int_eq(execsrv_address_parse(text, &u, &e),
		    n < sizeof(u.addr.un.sun_path) ? 0 : -1);
		snprintf(text, sizeof(text), "ws://%0*d:1", (int)n, 0);
		ck_assert_int_eq(execsrv_address_parse(text, &u, &e), -1);
		snprintf(text, sizeof(text), "ws://[%0*d]:1", (int)n, 0);
		ck_assert_int_eq(execsrv_address_parse(text, &u, &e), -1);
	}
	for (n = 1; n < 1500; n++) {
		snprintf(text, sizeof(text), "ws://127.0.0.1:1/%0*d", (int)n,
		    0);
		if (execsrv_address_parse(text, &u, &e) == -1) {
			ck_assert_uint_ge(n, 511);
			continue;
		}
		ck_assert_uint_lt(n, 511);
		/* Whatever URL: its request fits where it is written. */
		ck_assert_uint_gt(execsrv_upgrade_request(&u, KEY, NULL,
		    request, sizeof(request)), n);
	}
}
END_TEST

static const struct {
	const char			*text;
	enum execsrv_url_error		 error;
	enum execsrv_url_kind		 kind;
	const char			*host;
	uint16_t			 port;
	const char			*path;
} listens[] = {
	{ NULL, EXECSRV_URL_OK, EXECSRV_WS, "127.0.0.1", 0, "/" },
	{ "ws://0.0.0.0:8080", EXECSRV_URL_OK, EXECSRV_WS, "0.0.0.0", 8080,
	    "/" },
	{ "ws://[::1]:0/a?b", EXECSRV_URL_OK, EXECSRV_WS, "::1", 0, "/a?b" },
	{ "unix:/run/x", EXECSRV_URL_OK, EXECSRV_UNIX, "", 0, "/run/x" },
	{ "stdio", EXECSRV_URL_OK, EXECSRV_STDIO, "", 0, "" },
	{ "WS://127.0.0.1:0", EXECSRV_URL_OK, EXECSRV_WS, "127.0.0.1", 0, "/" },
	{ "Unix:/X", EXECSRV_URL_OK, EXECSRV_UNIX, "", 0, "/X" },
	{ "STDIO", EXECSRV_URL_SCHEME, 0, "", 0, "" },
	{ "stdio://", EXECSRV_URL_OK, EXECSRV_STDIO, "", 0, "" },
	{ "", EXECSRV_URL_SCHEME, 0, "", 0, "" },
	{ "stdio:", EXECSRV_URL_SCHEME, 0, "", 0, "" },
	{ "http://127.0.0.1:1", EXECSRV_URL_SCHEME, 0, "", 0, "" },
	{ "ws://", EXECSRV_URL_PORT, 0, "", 0, "" },
	{ "ws://example.org:1", EXECSRV_URL_HOST, 0, "", 0, "" },
	{ "ws://[::1", EXECSRV_URL_HOST, 0, "", 0, "" },
	{ "ws://[::g]:1", EXECSRV_URL_HOST, 0, "", 0, "" },
	{ "ws://[::1]", EXECSRV_URL_PORT, 0, "", 0, "" },
	{ "ws://1.2.3.4", EXECSRV_URL_PORT, 0, "", 0, "" },
	{ "ws://1.2.3.4:65536", EXECSRV_URL_PORT, 0, "", 0, "" },
	{ "ws://1.2.3.4:1/ ", EXECSRV_URL_PATH, 0, "", 0, "" },
	{ "unix:", EXECSRV_URL_PATH, 0, "", 0, "" },
	{ "unix:/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	    EXECSRV_URL_LONG, 0, "", 0, "" },
};

START_TEST(test_public_url)
{
	struct execsrv_url	 u;

	ck_assert_int_eq(execsrv_url_parse(listens[_i].text, &u),
	    listens[_i].error);
	if (listens[_i].error == EXECSRV_URL_OK) {
		ck_assert_int_eq(u.kind, listens[_i].kind);
		ck_assert_str_eq(u.host, listens[_i].host);
		ck_assert_uint_eq(u.port, listens[_i].port);
		ck_assert_str_eq(u.path, listens[_i].path);
		ck_assert_int_eq(u.is_local, u.port != 8080);
	}
	ck_assert_str_ne(execsrv_url_strerror(listens[_i].error),
	    execsrv_url_strerror(99));
}
END_TEST

/* What is said to who wants to connect is about connecting. */
START_TEST(test_not_to_connect)
{
	static const char *const	 rows[][2] = {
		{ "http://h", "unknown scheme" },
		{ "stdio", "unknown scheme" },
		{ "ws://127.0.0.1:0", "the port must be 1 to 65535" },
		{ "ws://127.0.0.1", "the port must be 1 to 65535" },
		{ "ws://1.2.3:1", "neither an address nor the name of a host" },
		{ "ws://h_:x:1", "neither an address nor the name of a host" },
	};
	struct execsrv_address		 u;
	struct execsrv_error		 e;
	char				 begin[128];
	size_t				 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(execsrv_address_parse(rows[i][0], &u, &e), -1);
		snprintf(begin, sizeof(begin), "%s: %s; expected ws://",
		    rows[i][0], rows[i][1]);
		ck_assert_msg(strncmp(e.text, begin, strlen(begin)) == 0,
		    "%s", e.text);
	}
	ck_assert(execsrv_reach_is("WSS://h") && execsrv_reach_is("Remote:x"));
	ck_assert(execsrv_reach_is("ws://h:1") &&
	    execsrv_reach_is("ws://a-1.example.org:80/x"));
	ck_assert(!execsrv_reach_is("ws://localhost:1") &&
	    !execsrv_reach_is("ws://10.0.0.1:1") &&
	    !execsrv_reach_is("ws://h") && !execsrv_reach_is("ws://[::1]:1"));
}
END_TEST

/* What can be connected to, but not listened on: so execsrvd has it, too. */
static const struct {
	const char			*text;
	enum execsrv_url_error		 error;
	const char			*why;
} doors[] = {
	{ NULL, EXECSRV_URL_OK, "no error" },
	{ "ws://[::1]:0", EXECSRV_URL_OK, "no error" },
	{ "ws://127.0.0.1:0/", EXECSRV_URL_OK, "no error" },
	{ "unix:/run/x y", EXECSRV_URL_OK, "no error" },
	{ "stdio", EXECSRV_URL_OK, "no error" },
	{ "ws://localhost:0", EXECSRV_URL_NAME, "not a numeric IP" },
	{ "ws://127.0.0.1:0/x", EXECSRV_URL_TAIL, "something behind the port" },
	{ "ws://127.0.0.1:0?x", EXECSRV_URL_TAIL, "something behind the port" },
	{ "unix:rel", EXECSRV_URL_RELATIVE, "not an absolute path" },
	{ "unix:@abs", EXECSRV_URL_RELATIVE, "not an absolute path" },
	{ "unix:/two\nlines", EXECSRV_URL_PATH, "not a path" },
	{ "ws://127.0.0.1", EXECSRV_URL_PORT, "no port of 0 to 65535" },
};

START_TEST(test_listen_url)
{
	struct execsrv_url	 u, none;

	memset(&none, 0, sizeof(none));
	ck_assert_int_eq(execsrv_url_parse_listen(doors[_i].text, &u),
	    doors[_i].error);
	ck_assert_str_eq(execsrv_url_strerror(doors[_i].error), doors[_i].why);
	ck_assert_int_eq(memcmp(&u, &none, sizeof(u)) == 0, doors[_i].error !=
	    EXECSRV_URL_OK);
	if (doors[_i].error > EXECSRV_URL_LONG)
		ck_assert_int_eq(execsrv_url_parse(doors[_i].text, &u),
		    EXECSRV_URL_OK);
}
END_TEST

/* --- the upgrade --- */

START_TEST(test_request)
{
	struct execsrv_address	 u;
	struct execsrv_error	 e;
	char			 out[1024];
	size_t			 n;

	ck_assert_int_eq(execsrv_address_parse("ws://[::1]:7/p?q", &u, &e), 0);
	n = execsrv_upgrade_request(&u, KEY, NULL, out, sizeof(out));
	ck_assert_uint_eq(n, strlen(out));
	ck_assert_str_eq(out, "GET /p?q HTTP/1.1\r\n"
	    "Host: [::1]:7\r\n"
	    "Upgrade: websocket\r\n"
	    "Connection: Upgrade\r\n"
	    "Sec-WebSocket-Key: " KEY "\r\n"
	    "Sec-WebSocket-Version: 13\r\n\r\n");
	ck_assert_uint_eq(execsrv_upgrade_request(&u, KEY, NULL, out, n), 0);
	ck_assert_uint_eq(execsrv_upgrade_request(&u, KEY, NULL, out, n + 1),
	    n);
}
END_TEST

START_TEST(test_request_token)
{
	struct execsrv_address	 u;
	struct execsrv_error	 e;
	struct execsrv_options	 o = { .connect_ms = 1, .silence_ms = 2,
				    .no_wait = true };
	char			 out[8192], token[EXECSRV_TOKEN_MAX + 2];
	const char		*bad[] = { "", "a b", "a\r\nX: y", "\xc3\xa9",
				    "\x7f", token };
	size_t			 i;

	ck_assert_int_eq(execsrv_address_parse("ws://10.0.0.1:7", &u, &e), 0);
	(void)execsrv_upgrade_request(&u, KEY, "s3cret", out, sizeof(out));
	ck_assert_ptr_nonnull(strstr(out, "\r\nSec-WebSocket-Version: 13\r\n"
	    "Authorization: Bearer s3cret\r\n\r\n"));
	memset(token, 'x', sizeof(token) - 1);
	token[sizeof(token) - 1] = '\0';
	for (i = 0; i < COUNT(bad); i++) {
		o.bearer_token = bad[i];
		ck_assert_ptr_null(execsrv_open(NOBODY, &o, &e));
		ck_assert_str_eq(e.text, "the bearer token must have 1 to 4096 "
		    "characters, printable ASCII without blanks");
	}
	/* The longest there is fits the request. */
	token[EXECSRV_TOKEN_MAX] = '\0';
	memset(u.host, 'h', sizeof(u.host) - 1);
	memset(u.path, 'p', sizeof(u.path) - 1);
	ck_assert_uint_gt(execsrv_upgrade_request(&u, KEY, token, out,
	    EXECSRV_REQUEST_MAX), EXECSRV_TOKEN_MAX);
	o.bearer_token = token;
	ck_assert_ptr_nonnull(x = execsrv_open(NOBODY, &o, &e));
	ck_assert_str_eq(x->opening.token, token);
	ck_assert_ptr_ne(x->opening.token, token);
	ck_assert_int_eq(x->opening.connect_ms, 1);
	ck_assert_int_eq(x->opening.initialize_ms, 10000);
	ck_assert_int_eq(x->recovery.recover_ms, 25000);
	ck_assert_int_eq(x->transport.silence_ms, 2);
	execsrv_free(&x);
	o.silence_ms = -1;
	ck_assert_ptr_nonnull(x = execsrv_open(NOBODY, &o, &e));
	ck_assert_int_eq(x->transport.silence_ms, 35000);
	execsrv_free(&x);
}
END_TEST

#define OK		"HTTP/1.1 101 OK\r\n"
#define UP		"Upgrade: websocket\r\n"
#define CO		"Connection: Upgrade\r\n"
#define AC		"Sec-WebSocket-Accept: " ACCEPT "\r\n"
#define NO_HTTP		"the answer is not HTTP/1.1"
#define NO_RFC		"violates RFC 6455 section 4.1"

static const struct {
	const char	*head;
	const char	*why;		/* NULL: fine */
} answers[] = {
	{ OK UP CO AC "\r\n", NULL },
	{ AC "\r\n", NO_HTTP },
	{ "HTTP/1.1 101\r\n" UP CO AC "\r\n", NULL },
	{ OK "UPGRADE:WebSocket\r\nconnection:  keep-alive ,upgrade\t\r\n"
	    "sec-websocket-accept:" ACCEPT "  \r\nX:\r\nDate: \xff\r\n\r\n",
	    NULL },
	{ OK "Connection: , Upgrade,,x\r\n" UP AC "\r\n", NULL },
	/* not HTTP */
	{ "", NO_HTTP }, { "\r\n\r\n", NO_HTTP },
	{ "HTTP/1.0 101 OK\r\n" UP CO AC "\r\n", NO_HTTP },
	{ "HTTP/2 101 OK\r\n" UP CO AC "\r\n", NO_HTTP },
	{ "HTTP/1.1 1 OK\r\n\r\n", NO_HTTP },
	{ "HTTP/1.1 1011\r\n\r\n", NO_HTTP },
	{ "HTTP/1.1  101 OK\r\n\r\n", NO_HTTP },
	{ "HTTP/1.1 10x OK\r\n\r\n", NO_HTTP },
	{ "HTTP/1.1 101\n\r\n\r\n", NO_HTTP },
	{ "SSH-2.0-OpenSSH_9.2\r\n\r\n", NO_HTTP },
	{ "GET / HTTP/1.1\r\n\r\n", NO_HTTP },
	/* refusals */
	{ "HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP 403 Forbidden" },
	{ "HTTP/1.1 200 \033[2J\r\n\r\n", NO_HTTP },
	{ "HTTP/1.1 200 \xc2\x9b" "2J\r\n\r\n", "HTTP 200 ??2J" },
	{ "HTTP/1.1 503\r\n\r\n", "HTTP 503" },
	/* no upgrade */
	{ OK "\r\n", NO_RFC }, { OK CO AC "\r\n", NO_RFC },
	{ OK UP AC "\r\n", NO_RFC }, { OK UP CO "\r\n", NO_RFC },
	{ OK "Upgrade: h2c\r\n" CO AC "\r\n", NO_RFC },
	{ OK "Upgrade: websocket, h2c\r\n" CO AC "\r\n", NO_RFC },
	{ OK UP "Connection: close\r\n" AC "\r\n", NO_RFC },
	{ OK UP "Connection: upgrades\r\n" AC "\r\n", NO_RFC },
	{ OK UP "Connection:\r\n" AC "\r\n", NO_RFC },
	{ OK UP CO "Sec-WebSocket-Accept:\r\n\r\n", NO_RFC },
	{ OK UP CO "Sec-WebSocket-Accept: " KEY "\r\n\r\n", NO_RFC },
	{ OK UP CO "Sec-WebSocket-Accept: S3PPLMBITXAQ9KYGZZHZRBK+XOO="
	    "\r\n\r\n", NO_RFC },
	{ OK UP CO "Sec-WebSocket-Accept: " ACCEPT "=\r\n\r\n", NO_RFC },
	{ OK UP UP CO AC "\r\n", NO_RFC }, { OK UP CO AC AC "\r\n", NO_RFC },
	{ OK UP CO AC "Sec-WebSocket-Protocol: x\r\n\r\n", NO_RFC },
	{ OK UP CO AC "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
	    NO_RFC },
	/* malformed lines */
	{ OK UP CO AC "nothing\r\n\r\n", NO_RFC },
	{ OK UP CO AC ": x\r\n\r\n", NO_RFC },
	{ OK UP CO AC " folded: x\r\n\r\n", NO_RFC },
	{ OK UP CO AC "X : y\r\n\r\n", NO_RFC },
	{ OK UP CO AC "X: \x01\r\n\r\n", NO_RFC },
	{ OK UP CO AC "X: a\nY: b\r\n\r\n", NO_RFC },
	{ OK UP CO AC "X: a\rY: b\r\n\r\n", NO_RFC },
	{ OK UP CO AC, NO_RFC }, { OK UP CO AC "\r", NO_RFC },
};

START_TEST(test_answer)
{
	struct execsrv_error	 e = { .text = "" };
	/* A copy of its own, so that sanitizers see any step beyond. */
	size_t			 n = strlen(answers[_i].head);
	char			*head = malloc(n > 0 ? n : 1);
	int			 r;

	ck_assert_ptr_nonnull(head);
	memcpy(head, answers[_i].head, n);
	r = execsrv_upgrade_judge(head, n, n, KEY, &e);
	ck_assert_int_eq(r, answers[_i].why == NULL ? 0 : -1);
	if (r == -1)
		ck_assert_msg(strstr(e.text, answers[_i].why) != NULL,
		    "%s", e.text);
	free(head);
}
END_TEST

static const struct {
	const char	*answer, *why;
} bodies[] = {
#define NO	"HTTP/1.1 403 Forbidden\r\n"
#define PLAIN	"Content-Type: text/plain\r\n\r\n"
	{ NO PLAIN "Forbidden: DenyUsers names this user\n",
	    "HTTP 403 Forbidden: DenyUsers names this user" },
	{ NO PLAIN "go away", "HTTP 403 Forbidden: go away" },
	{ NO PLAIN "go away\nat once", "HTTP 403 Forbidden: go away" },
	{ NO PLAIN "a\033[1mb\r\n", "HTTP 403 Forbidden: a?[1mb" },
	{ NO PLAIN "Forbidden\n", "HTTP 403 Forbidden: Forbidden" },
	{ NO PLAIN, "HTTP 403 Forbidden" },
	{ NO "content-type:text/plain; charset=utf-8\r\n\r\nx",
	    "HTTP 403 Forbidden: x" },
	{ NO "Content-Type: text/html\r\n\r\n<p>x", "HTTP 403 Forbidden" },
	{ NO "\r\nx", "HTTP 403 Forbidden" },
	{ "HTTP/1.1 403\r\n" PLAIN "x: y", "HTTP 403: x: y" },
	{ "HTTP/1.1 401 Unauthorized\r\n" PLAIN "Unauthorized: wrong token\n",
	    "HTTP 401 Unauthorized: wrong token" },
	{ "HTTP/1.1 401 Unauthorized\r\n\r\n",
	    "HTTP 401 Unauthorized: a token is missing, or is not accepted" },
#undef NO
#undef PLAIN
};

/* What the server says of its reason is shown. */
START_TEST(test_answer_why)
{
	static const char	 refused[] = "the server refused: ";
	struct execsrv_error	 e = { .text = "" };
	size_t			 n = strlen(bodies[_i].answer);
	char			*all = malloc(n), *end;

	ck_assert_ptr_nonnull(all);
	memcpy(all, bodies[_i].answer, n);
	end = memmem(all, n, "\r\n\r\n", 4);
	ck_assert_ptr_nonnull(end);
	ck_assert_int_eq(execsrv_upgrade_judge(all, (size_t)(end + 4 - all), n,
	    KEY, &e), -1);
	ck_assert_int_eq(strncmp(e.text, refused, strlen(refused)), 0);
	ck_assert_str_eq(e.text + strlen(refused), bodies[_i].why);
	free(all);
}
END_TEST

START_TEST(test_answer_lines)
{
	struct execsrv_error	 e;
	char			 head[4096] = OK UP CO AC;
	int			 lines;

	for (lines = 3; lines < 120; lines++) {
		strcat(head, "\r\n");
		ck_assert_int_eq(execsrv_upgrade_judge(head, strlen(head),
		    strlen(head), KEY, &e), lines < 100 ? 0 : -1);
		head[strlen(head) - 2] = '\0';
		strcat(head, "X: y\r\n");
	}
}
END_TEST

static void
on_any_note(void *arg, const char *method, const char *params, size_t len)
{
	ck_assert_ptr_eq(arg, &trace);
	peer_note("%s%s%.*s;", method, params != NULL ? "=" : "", (int)len,
	    params != NULL ? params : "");
}

/* The answer in pieces, and a frame behind it that must not get lost. */
START_TEST(test_upgrade_pieces)
{
	static const char	 all[] = UPGRADED "\x81\x0e{\"method\":\"m\"}"
				    "\x81\x0e{\"method\":\"n\"}";
	size_t			 n = sizeof(all) - 1;

	peer_upgrading();
	execsrv_on_note(x, on_any_note, &trace);
	peer_put(all, (size_t)_i);
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_int_eq(transport_poll_events(&x->transport), POLLIN);
	peer_put(all + _i, n - (size_t)_i);
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_int_eq(x->state, EXECSRV_INITIALIZING);
	ck_assert(transport_is_up(&x->transport));
	peer_ck_trace("m;n;");
	peer_stop();
}
END_TEST

START_TEST(test_upgrade_endless)
{
	static char	 a[EXECSRV_HEAD_MAX];
	size_t		 n;

	memset(a, 'a', sizeof(a));
	for (n = EXECSRV_HEAD_MAX - 2; n <= EXECSRV_HEAD_MAX; n++) {
		peer_upgrading();
		peer_put(OK UP CO AC "X: ", strlen(OK UP CO AC "X: "));
		peer_put(a, n - strlen(OK UP CO AC "X: ") - 4);
		ck_assert_int_eq(peer_turn(), 0);
		peer_put("\r\n\r\n", 4);
		ck_assert_int_eq(peer_turn(), 0);
		ck_assert_int_eq(x->state, EXECSRV_INITIALIZING);
		ck_assert(transport_is_up(&x->transport));
		peer_stop();
	}
	peer_upgrading();
	peer_put(a, sizeof(a));
	ck_assert_int_eq(peer_turn(), -1);
	ck_assert_ptr_nonnull(strstr(execsrv_why(x)->text,
	    "is longer than 8192 bytes"));
	ck_assert_int_eq(transport_poll_events(&x->transport), 0);
	ck_assert_int_eq(execsrv_wait_ms(x), 0);
	peer_stop();
}
END_TEST

START_TEST(test_upgrade_end)
{
	peer_upgrading();
	peer_put(OK UP, strlen(OK UP));
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(peer_turn(), -1);
	ck_assert_str_eq(execsrv_why(x)->text,
	    "the server closed the connection");
	/* Failed stays failed, and keeps the first reason. */
	ck_assert_int_eq(execsrv_call(x, "m", NULL, 0, NULL, NULL), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(transport_feed(&x->transport, "x", 1), -1);
	ck_assert_str_eq(execsrv_why(x)->text,
	    "the server closed the connection");
	peer_stop();
}
END_TEST

/* --- texts --- */

START_TEST(test_printable)
{
	static const struct {
		const char	*in, *out;
		size_t		 width;
	} rows[] = {
		{ "", "", 0 }, { "a b", "a b", 3 },
		{ "\033[31m\a\n\x7f", "?[31m???", 8 },
		{ "h\xc3\xa9", "h\xc3\xa9", 2 },
		{ "\xc2\x9b" "1", "??1", 3 }, { "\xc2\xa0", "\xc2\xa0", 1 },
		{ "\xc3", "?", 1 }, { "\xff\xfe", "??", 2 },
		{ "\xe2\x82\xac\xe2\x82", "\xe2\x82\xac??", 3 },
		{ "\xe2\x80\xae" "x", "???x", 4 },
		{ "\xe2\x80\x8e\xe2\x81\xa6", "??????", 6 },
		{ "\xe2\x80\x93", "\xe2\x80\x93", 1 },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 1 },
		{ "\xed\xa0\x80", "???", 3 },
	};
	char	 text[64];
	size_t	 i;

	for (i = 0; i < COUNT(rows); i++) {
		strcpy(text, rows[i].in);
		ck_assert_uint_eq(execsrv_printable(text), rows[i].width);
		ck_assert_str_eq(text, rows[i].out);
	}
}
END_TEST

/* The errno of either side; reasons by name; one version everywhere. */
START_TEST(test_error_kinds)
{
	static const struct {
		const char	*text;
		int		 os_error;
	} rows[] = {
		{ "cat: No such file or directory (os error 2)", ENOENT },
		{ "(os error 2): again (os error 13)", EACCES },
		{ "No such file", 0 },
		{ "(os error x)", 0 },
		{ "(os error 123456)", 0 },
		{ "(os error -1)", 0 },
		{ "(os error ", 0 },
	};
	struct execsrv_error	 e;
	size_t			 i;

	for (i = 0; i < COUNT(rows); i++) {
		execsrv_error_answer(&e, -32603, rows[i].text);
		ck_assert_int_eq(e.code, -32603);
		ck_assert_int_eq(e.reason, EXECSRV_WHY_SERVER);
		ck_assert_int_eq(e.os_error, rows[i].os_error);
		ck_assert_str_eq(e.text, rows[i].text);
	}
	errno = EMFILE;
	execsrv_error_set(&e, EXECSRV_WHY_SYSTEM, "%s", e.text);
	ck_assert_int_eq(e.os_error, EMFILE);
	ck_assert_int_eq(e.code, 0);
	ck_assert_str_eq(e.text, rows[COUNT(rows) - 1].text);
	execsrv_error_set(&e, EXECSRV_WHY_LOST, "gone");
	ck_assert_int_eq(e.os_error, 0);
	execsrv_error_prefix(&e, "box");
	ck_assert_str_eq(e.text, "box: gone");
	for (i = 0; i <= EXECSRV_WHY_CANCELLED; i++)
		ck_assert_str_ne(execsrv_reason_name((enum execsrv_reason)i),
		    "unknown");
	ck_assert_str_eq(execsrv_reason_name((enum execsrv_reason)i),
	    "unknown");
	ck_assert_str_eq(execsrv_version(), PACKAGE_VERSION);
	snprintf(e.text, sizeof(e.text), "%d.%d.%d", EXECSRV_VERSION_MAJOR,
	    EXECSRV_VERSION_MINOR, EXECSRV_VERSION_PATCH);
	ck_assert_str_eq(e.text, PACKAGE_VERSION);
}
END_TEST

START_TEST(test_error_cut)
{
	struct execsrv_error	 e;
	char			 text[2048];
	size_t			 n;

	/* Cut wherever: no half a character is left. */
	for (n = 500; n < 520; n++) {
		memset(text, 'a', n);
		strcpy(text + n, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
		execsrv_error_set(&e, EXECSRV_WHY_GAP, "%s", text);
		ck_assert_int_eq(e.reason, EXECSRV_WHY_GAP);
		strcpy(text, e.text);
		execsrv_printable(text);
		ck_assert_str_eq(text, e.text);
	}
}
END_TEST

/* --- messages and frames --- */

#define NO_RPC		"the server sent a message that is not JSON-RPC"

static const struct {
	const char	*text;
	const char	*why;		/* "": all is well */
	const char	*told;		/* to the hook for notes */
} messages[] = {
	{ "{\"method\":\"m\"}", "", "m;" },
	{ "{\"method\":\"m\",\"params\":null}", "", "m=null;" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"a/b\",\"params\":[1]}", "",
	    "a/b=[1];" },
	{ "{\"method\":\"process/output\",\"params\":{\"processId\":\"p9\"}}",
	    "", "" },
	{ "{\"method\":\"process/output\"}", "", "" },
	{ "{\"method\":\"process/closed\",\"params\":\"p1\"}", "", "" },
	{ "", NO_RPC, "" }, { " ", NO_RPC, "" }, { "x", NO_RPC, "" },
	{ "1", NO_RPC, "" }, { "null", NO_RPC, "" }, { "[]", NO_RPC, "" },
	{ "{}", NO_RPC, "" }, { "{\"id\":1}", NO_RPC, "" },
	{ "{\"method\":1}", NO_RPC, "" }, { "{\"method\":null}", NO_RPC, "" },
	{ "{\"result\":1}", NO_RPC, "" },
	{ "{\"error\":{\"code\":1}}", NO_RPC, "" },
	{ "{\"id\":1.5,\"result\":1}", NO_RPC, "" },
	{ "{\"id\":{},\"result\":1}", NO_RPC, "" },
	{ "{\"id\":null,\"result\":1}", NO_RPC, "" },
	{ "{\"id\":null,\"method\":\"m\"}", NO_RPC, "" },
	{ "{\"id\":[],\"method\":\"m\"}", NO_RPC, "" },
	{ "{\"method\":\"m\",\"method\":\"m\"}", NO_RPC, "" },
	{ "{\"method\":\"m\"}{\"method\":\"m\"}", NO_RPC, "" },
	{ "{\"id\":1,\"result\":1}",
	    "the server sent a response to no request", "" },
	{ "{\"id\":\"1\",\"result\":1}",
	    "the server sent a response to no request", "" },
	{ "{\"id\":99999999999999999999,\"result\":1}", NO_RPC, "" },
	{ "{\"id\":-1,\"error\":{\"code\":-32600,\"message\":\"no\\nway\"}}",
	    "the server sent a response to no request: no?way", "" },
	{ "{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"bad\"}}",
	    "the server sent a response to no request: bad", "" },
	{ "{\"id\":-1,\"error\":7}",
	    "the server sent a response to no request: "
	    "the server sent an error without a message", "" },
};

START_TEST(test_message)
{
	peer_start();
	execsrv_on_note(x, on_any_note, &trace);
	peer_say("%s", messages[_i].text);
	ck_assert_int_eq(peer_turn(), messages[_i].why[0] == '\0' ? 0 : -1);
	ck_assert_str_eq(execsrv_why(x)->text, messages[_i].why);
	peer_ck_trace(messages[_i].told);
	peer_stop();
}
END_TEST

START_TEST(test_requests_of_servers)
{
	peer_start();
	peer_say("{\"id\":7,\"method\":\"m\"}");
	peer_say("{\"id\":\"a\\\"b\",\"method\":\"m\",\"params\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_heard("{\"id\":7,\"error\":{\"code\":-32601,"
	    "\"message\":\"this client handles no requests\"}}");
	peer_ck_heard("{\"id\":\"a\\\"b\",\"error\":{\"code\":-32601,"
	    "\"message\":\"this client handles no requests\"}}");
	peer_stop();
}
END_TEST

static const struct {
	const char	*bytes;
	size_t		 len;
	unsigned	 code;		/* of the close it is answered with */
	const char	*why;
} frames[] = {
#define F(b)	b, sizeof(b) - 1
	{ F("\x81\x85\0\0\0\0hello"), 1002, "violated RFC 6455 (1002)" },
	{ F("\xc1\x00"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x83\x00"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x80\x00"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x81\x7e\x00\x01"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x81\x7f\xff\0\0\0\0\0\0\0"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x81\x7f\0\0\0\0\x04\0\0\x01"), 1009,
	    "violated RFC 6455 (1009)" },
	{ F("\x89\x7e\x00\x7e"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x09\x00"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x81\x02\xc3("), 1007, "violated RFC 6455 (1007)" },
	{ F("\x88\x01\x03"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x88\x02\x03\xed"), 1002, "violated RFC 6455 (1002)" },
	{ F("\x88\x00"), 1005, "closed the connection (1005)" },
	{ F("\x88\x02\x03\xe8"), 1000, "closed the connection (1000)" },
	{ F("\x88\x06\x03\xe9" "bye\x07"), 1001,
	    "closed the connection (1001: bye?)" },
	{ F("\x82\x02\xff\xff"), 0, "not UTF-8" },
#undef F
};

START_TEST(test_frame)
{
	struct ws_event	 ev;

	peer_start();
	peer_put(frames[_i].bytes, frames[_i].len);
	/* Nothing behind it is looked at. */
	peer_say("{\"method\":\"m\"}");
	execsrv_on_note(x, on_any_note, &trace);
	ck_assert_int_eq(peer_turn(), -1);
	ck_assert_msg(strstr(execsrv_why(x)->text, frames[_i].why) != NULL,
	    "%s", execsrv_why(x)->text);
	peer_ck_trace("");
	ev = peer_heard();
	ck_assert_int_eq(ev.type, frames[_i].code == 0 ? WS_EV_NONE :
	    WS_EV_CLOSE);
	ck_assert_uint_eq(ev.code, frames[_i].code);
	peer_stop();
}
END_TEST

START_TEST(test_fragments)
{
	peer_start();
	execsrv_on_note(x, on_any_note, &trace);
	peer_frame(0x02, "{\"meth", 6);
	peer_frame(0x89, "ping", 4);
	peer_frame(0x00, "od\":", 4);
	peer_frame(0x8a, "", 0);
	peer_frame(0x80, "\"m\"}", 4);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("m;");
	ck_assert_int_eq(peer_heard().type, WS_EV_PONG);
	peer_stop();
}
END_TEST

START_TEST(test_ping_flood)
{
	struct ws_event	 ev;
	size_t		 i, pongs = 0, last = 0;
	char		 data[16];
	int		 small = 4096;

	peer_start();
	ck_assert_int_eq(setsockopt(x->transport.fd, SOL_SOCKET,
	    SO_SNDBUF, &small, sizeof(small)), 0);
	for (i = 1; i <= 200000; i++) {
		snprintf(data, sizeof(data), "%zu", i);
		peer_frame(0x89, data, strlen(data));
		if (i % 100 == 0)
			ck_assert_int_eq(peer_turn(), 0);
		ck_assert_uint_le(x->transport.out.len, LIMIT_OUT_PONGS + 200);
	}
	for (;;) {
		ev = peer_heard();
		if (ev.type == WS_EV_NONE && peer_turn() == 0 && last == i - 1)
			break;
		if (ev.type == WS_EV_NONE)
			continue;
		ck_assert_int_eq(ev.type, WS_EV_PONG);
		snprintf(data, sizeof(data), "%.*s", (int)ev.len,
		    (char *)ev.data);
		last = strtoul(data, NULL, 10);
		pongs++;
	}
	ck_assert_uint_lt(pongs, i);
	peer_stop();
}
END_TEST

START_TEST(test_long_message)
{
	static char	 text[(17 << 20) + 3];
	struct ws_event	 ev;

	memset(text, ' ', sizeof(text));
	peer_start();
	text[0] = '[';
	text[sizeof(text) - 1] = ']';
	ck_assert_int_eq(execsrv_call(x, "m", text, sizeof(text), NULL, NULL),
	    0);
	/* In frames that servers take (the reader's limit is LIMIT_FRAME). */
	ev = peer_heard();
	ck_assert_int_eq(ev.type, WS_EV_MESSAGE);
	ck_assert_uint_eq(ev.len, sizeof(text) +
	    strlen("{\"id\":1,\"method\":\"m\",\"params\":}"));
	ck_assert_int_eq(transport_poll_events(&x->transport), POLLIN);
	peer_stop();
}
END_TEST

START_TEST(test_too_long_message)
{
	size_t	 n = LIMIT_MESSAGE, i;
	char	*text = malloc(n);

	ck_assert_ptr_nonnull(text);
	memset(text, '1', n);
	peer_start();
	ck_assert_int_eq(execsrv_call(x, "m", text, n, NULL, NULL), -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert(calls_is_empty(&x->calls));
	ck_assert_int_eq(execsrv_call(x, "m", "1", 1, NULL, NULL), 0);
	peer_ck_heard("{\"id\":2,\"method\":\"m\",\"params\":1}");
	/* Nobody reads: at some time it is too much. */
	for (i = 0; i < 3; i++)
		if (execsrv_call(x, "m", text, n - 100, NULL, NULL) == -1)
			break;
	ck_assert_uint_ge(i, 1);
	ck_assert_str_eq(execsrv_why(x)->text,
	    "too many bytes wait to be sent");
	peer_stop();
	free(text);
}
END_TEST

/* --- calls --- */

static void
on_answer(void *arg, const struct execsrv_answer *a)
{
	if (a->error != NULL)
		peer_note("%s: %lld %s;", (char *)arg,
		    (long long)a->error->code, a->error->text);
	else
		peer_note("%s=%.*s;", (char *)arg,
		    (int)json_tok(a->json, a->result)->len,
		    json_text(a->json, a->result));
}

static char	 A[] = "a", B[] = "b", C[] = "c";

START_TEST(test_calls)
{
	peer_start();
	ck_assert_int_eq(execsrv_call(x, "x/a", NULL, 0, on_answer, A), 0);
	ck_assert_int_eq(execsrv_call(x, "b", "{}", 2, on_answer, B), 0);
	ck_assert_int_eq(execsrv_call(x, "c", "[]", 2, on_answer, C), 0);
	ck_assert_int_eq(execsrv_call(x, "d", "[]", 2, NULL, NULL), 0);
	peer_ck_heard("{\"id\":1,\"method\":\"x/a\",\"params\":null}");
	peer_ck_heard("{\"id\":2,\"method\":\"b\",\"params\":{}}");
	peer_say("{\"id\":3,\"result\":null}");
	peer_say("{\"id\":1,\"error\":{\"code\":-5,"
	    "\"message\":\"x\\u0007y\"}}");
	peer_say("{\"id\":4,\"error\":null}");
	peer_say("{\"id\":2,\"error\":{\"message\":[]}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("c=null;a: -5 x?y;b: -32603 the server sent an error "
	    "without a message;");
	/* Once is enough. */
	peer_say("{\"id\":2,\"result\":null}");
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("");
	peer_stop();
}
END_TEST

START_TEST(test_ask)
{
	struct execsrv_error	 e = { .text = "" };
	uint64_t		 began;

	peer_start();
	peer_say("{\"id\":1,\"result\":7}");
	ck_assert_int_eq(execsrv_ask(x, "m", NULL, 0, 1000, on_answer, A, &e),
	    0);
	peer_ck_trace("a=7;");
	peer_say("{\"id\":2,\"error\":{\"code\":-9,\"message\":\"no\"}}");
	ck_assert_int_eq(execsrv_ask(x, "m", NULL, 0, -1, on_answer, A, &e),
	    -1);
	ck_assert_int_eq(e.code, -9);
	ck_assert_str_eq(e.text, "no");
	/* Silence; other messages do not make it longer. */
	began = clock_ms();
	peer_say("{\"method\":\"m\"}");
	ck_assert_int_eq(execsrv_ask(x, "m", NULL, 0, 50, on_answer, A, &e),
	    -1);
	ck_assert_uint_ge(clock_ms() - began, 50);
	ck_assert_str_eq(e.text, "the server does not answer m");
	/* The answer that comes too late harms nobody. */
	peer_say("{\"id\":3,\"result\":8}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(execsrv_ask(x, "m", NULL, 0, -1, on_answer, A, &e),
	    -1);
	ck_assert_str_eq(e.text, "the server closed the connection");
	peer_stop();
}
END_TEST

START_TEST(test_close_session)
{
	struct execsrv_error	 e = { .text = "" };

	peer_start();
	peer_say("{\"id\":1,\"result\":{}}");
	peer_frame(0x88, "\x03\xe8", 2);
	ck_assert_int_eq(execsrv_close_session(x, 1000, &e), 0);
	peer_ck_heard("{\"id\":1,\"method\":\"session/close\","
	    "\"params\":null}");
	ck_assert_int_eq(peer_heard().type, WS_EV_CLOSE);
	ck_assert_int_eq(execsrv_call(x, "m", NULL, 0, NULL, NULL), -1);
	ck_assert_int_eq(execsrv_close_session(x, 1000, &e), -1);
	ck_assert_str_ne(e.text, "");
	peer_stop();
	/* A server that does not know it, one that says nothing. */
	peer_start();
	peer_say("{\"id\":1,\"error\":{\"code\":-32601,"
	    "\"message\":\"what?\"}}");
	ck_assert_int_eq(execsrv_close_session(x, 1000, &e), -1);
	ck_assert_int_eq(e.code, -32601);
	ck_assert_str_eq(execsrv_why(x)->text, "");
	ck_assert_int_eq(execsrv_close_session(x, 30, &e), -1);
	ck_assert_str_eq(e.text, "the server does not answer session/close");
	/* Held back, it is read all the same; nor need it say goodbye. */
	execsrv_hold(x, true);
	peer_say("{\"id\":3,\"result\":{}}");
	ck_assert_int_eq(execsrv_close_session(x, 30, &e), 0);
	ck_assert_str_eq(execsrv_why(x)->text, "");
	peer_stop();
}
END_TEST

/* --- processes --- */

static void
hook_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	static const char *const	 names[] = {
		"start", "write", "close", "signal", "terminate", "resize"
	};

	(void)arg;
	peer_note("%s", names[what]);
	if (e != NULL)
		peer_note(" %lld %s", (long long)e->code, e->text);
	peer_note(";");
}

static void
hook_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	(void)arg;
	peer_note("%d:%.*s;", (int)stream, (int)len, (const char *)data);
}

static void
hook_exited(void *arg, int exit_code, bool sandbox_denied)
{
	(void)arg;
	peer_note("exit %d%s;", exit_code, sandbox_denied ? " denied" : "");
}

static void
hook_closed(void *arg)
{
	(void)arg;
	peer_note("closed;");
}

static void
hook_lost(void *arg, const struct execsrv_error *e)
{
	(void)arg;
	peer_note("lost %s;", e->text);
}

static const struct execsrv_hooks	 hooks = {
	.on_answer = hook_answer, .on_output = hook_output,
	.on_exited = hook_exited, .on_closed = hook_closed, .on_lost = hook_lost
};

static const char *const	 no_env[] = { NULL };
static const char *const	 argv_a[] = { "a", NULL };

static void
start_process(void)
{
	struct execsrv_start	 s = { .argv = argv_a, .env = no_env,
				    .cwd = "/" };

	peer_start();
	ck_assert_ptr_nonnull(p = execsrv_process_start(x, &s, &hooks, NULL));
	ck_assert_uint_eq(execsrv_process_awaits(p, EXECSRV_START), 1);
	peer_say("{\"id\":1,\"result\":{\"processId\":\"p1\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("start;");
	ck_assert_uint_eq(execsrv_process_awaits(p, EXECSRV_START), 0);
	(void)peer_heard();
}

static void
say_output(unsigned seq, const char *text)
{
	char	 b64[64];

	b64[b64_encode(b64, text, strlen(text))] = '\0';
	peer_say("{\"method\":\"process/output\",\"params\":"
	    "{\"processId\":\"p1\","
	    "\"seq\":%u,\"stream\":\"stdout\",\"chunk\":\"%s\"}}", seq, b64);
}

static void
say_end(const char *what, unsigned seq)
{
	peer_say("{\"method\":\"process/%s\",\"params\":{\"processId\":\"p1\","
	    "\"seq\":%u,\"exitCode\":3,\"sandboxDenied\":false}}", what, seq);
}

START_TEST(test_start)
{
	static const char *const	 argv[] = { "sh", "a \"b\"", "", NULL };
	static const char *const	 env[] = {
		"A=1", "B=", "A=2=3", "AA=4", NULL
	};
	struct execsrv_start		 s = {
		.argv = argv, .env = env, .cwd = "/a b", .tty = true,
		.rows = 24, .cols = 80
	};

	peer_start();
	ck_assert_ptr_nonnull(execsrv_process_start(x, &s, &hooks, NULL));
	peer_ck_heard("{\"id\":1,\"method\":\"process/start\",\"params\":"
	    "{\"processId\":\"p1\",\"argv\":[\"sh\",\"a \\\"b\\\"\",\"\"],"
	    "\"cwd\":\"file:///a%20b\",\"env\":{\"B\":\"\",\"A\":\"2=3\","
	    "\"AA\":\"4\"},\"tty\":true,\"pipeStdin\":false}}");
	x->opening.caps = ~0u;
	s.env = no_env;
	s.argv = argv_a;
	s.inherit = true;
	ck_assert_ptr_nonnull(execsrv_process_start(x, &s, &hooks, NULL));
	peer_ck_heard("{\"id\":2,\"method\":\"process/start\",\"params\":"
	    "{\"processId\":\"p2\",\"argv\":[\"a\"],"
	    "\"cwd\":\"file:///a%20b\",\"env\":{},"
	    "\"tty\":true,\"pipeStdin\":false,\"envPolicy\":"
	    "{\"inherit\":\"all\",\"ignoreDefaultExcludes\":true,"
	    "\"exclude\":[],\"set\":{},\"includeOnly\":[]},"
	    "\"ptySize\":{\"rows\":24,\"cols\":80}}}");
	peer_say("{\"id\":2,\"error\":{\"code\":-32603,\"message\":\"no\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("start -32603 no;");
	peer_stop();
}
END_TEST

START_TEST(test_start_refused)
{
	static const char *const	 none[] = { NULL };
	static const char *const	 latin[] = { "\xe9", NULL };
	static const char *const	 no_name[] = { "=x", NULL };
	static const char *const	 no_value[] = { "x", NULL };
	static const struct {
		const char *const	*argv, *const *env;
		const char		*cwd;
		int			 error;
	} rows[] = {
		{ none, no_env, "/", EINVAL },
		{ latin, no_env, "/", EILSEQ },
		{ argv_a, latin, "/", EILSEQ },
		{ argv_a, no_name, "/", EINVAL },
		{ argv_a, no_value, "/", EINVAL },
		{ argv_a, no_env, "", EINVAL },
		{ argv_a, no_env, "a", EINVAL },
	};
	struct execsrv_start		 s = { .argv = NULL };
	size_t				 i;

	peer_start();
	for (i = 0; i < COUNT(rows); i++) {
		s.argv = rows[i].argv;
		s.env = rows[i].env;
		s.cwd = rows[i].cwd;
		errno = 0;
		ck_assert_ptr_null(execsrv_process_start(x, &s, &hooks, NULL));
		ck_assert_int_eq(errno, rows[i].error);
	}
	ck_assert(TAILQ_EMPTY(&x->processes.live));
	ck_assert(calls_is_empty(&x->calls));
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_stop();
}
END_TEST

/* Nothing is asked of one whose connection has failed. */
START_TEST(test_process_requests_failed)
{
	int	 i, r[5];

	start_process();
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(peer_turn(), -1);
	for (i = 0; i < 2; i++) {
		errno = 0;
		r[0] = execsrv_process_close_stdin(p);
		r[1] = execsrv_process_signal(p, "SIGHUP");
		r[2] = execsrv_process_resize(p, 1, 2);
		r[3] = execsrv_process_terminate(p, 7 * (unsigned)i);
		r[4] = execsrv_process_write(p, "hi", 2);
		ck_assert_int_eq(errno, EPIPE);
		ck_assert_int_eq(r[0] + r[1] + r[2] + r[3] + r[4], -5);
	}
	ck_assert_uint_eq(execsrv_process_awaits(p, EXECSRV_TERMINATE), 0);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_stop();
}
END_TEST

START_TEST(test_process_requests)
{
	start_process();
	ck_assert_int_eq(execsrv_process_write(p, "hi", 2), 0);
	ck_assert_int_eq(execsrv_process_close_stdin(p), 0);
	ck_assert_int_eq(execsrv_process_signal(p, "SIGHUP"), 0);
	ck_assert_int_eq(execsrv_process_resize(p, 1, 65535), 0);
	ck_assert_int_eq(execsrv_process_terminate(p, 0), 0);
	peer_ck_heard("{\"id\":2,\"method\":\"process/write\",\"params\":"
	    "{\"processId\":\"p1\",\"writeId\":\"w1\",\"chunk\":\"aGk=\"}}");
	peer_ck_heard("{\"id\":3,\"method\":\"process/closeStdin\",\"params\":"
	    "{\"processId\":\"p1\"}}");
	peer_ck_heard("{\"id\":4,\"method\":\"process/signal\",\"params\":"
	    "{\"processId\":\"p1\",\"signal\":\"SIGHUP\"}}");
	peer_ck_heard("{\"id\":5,\"method\":\"process/resize\",\"params\":"
	    "{\"processId\":\"p1\",\"rows\":1,\"cols\":65535}}");
	peer_ck_heard("{\"id\":6,\"method\":\"process/terminate\",\"params\":"
	    "{\"processId\":\"p1\"}}");
	peer_say("{\"id\":6,\"result\":{}}");
	peer_say("{\"id\":2,\"result\":{\"status\":\"stdinClosed\"}}");
	peer_say("{\"id\":3,\"result\":{\"status\":\"accepted\"}}");
	peer_say("{\"id\":4,\"result\":null}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("terminate;write 0 stdinClosed;close;signal;");
	ck_assert_uint_eq(execsrv_process_awaits(p, EXECSRV_RESIZE), 1);
	/* Free while an answer is due: nobody hears it. */
	execsrv_process_free(&p);
	ck_assert_ptr_null(p);
	peer_say("{\"id\":5,\"result\":{}}");
	say_output(1, "late");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
	peer_stop();
}
END_TEST

START_TEST(test_write_chunks)
{
	static char	 data[150000];
	struct ws_event	 ev;
	struct json	 j;
	size_t		 sum = 0, i;
	ssize_t		 n;
	uint32_t	 tok;

	start_process();
	json_init(&j);
	ck_assert_uint_eq(execsrv_process_room(p), 48 * 1024);
	ck_assert_int_eq(execsrv_process_write(p, data, sizeof(data)), 0);
	ck_assert_uint_eq(execsrv_process_awaits(p, EXECSRV_WRITE), 3);
	ck_assert_uint_eq(execsrv_process_room(p), 0);
	for (i = 0; i < 3; i++) {
		/* By a ping it measures the line. */
		while ((ev = peer_heard()).type == WS_EV_PING)
			;
		ck_assert_int_eq(json_parse(&j, (char *)ev.data, ev.len), 0);
		tok = json_find(&j, json_find(&j, 0, "params"), "chunk");
		ck_assert_uint_ne(tok, 0);
		n = b64_decode(ev.data, json_text(&j, tok),
		    json_tok(&j, tok)->len);
		ck_assert_int_gt(n, 0);
		ck_assert_int_le(n, 65536);
		sum += (size_t)n;
	}
	ck_assert_uint_eq(sum, sizeof(data));
	json_fini(&j);
	peer_stop();
}
END_TEST

START_TEST(test_events)
{
	start_process();
	say_output(1, "one");
	say_output(1, "again");
	say_output(3, "three");
	say_output(3, "again");
	say_end("closed", 5);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0:one;");
	ck_assert_int_gt(execsrv_wait_ms(x), 5000);
	say_end("exited", 4);
	say_output(2, "");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0:;0:three;exit 3;closed;");
	ck_assert_int_gt(execsrv_wait_ms(x), 10000);	/* idle */
	say_output(6, "behind the end");
	say_end("exited", 1);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
	ck_assert_int_gt(execsrv_wait_ms(x), 10000);	/* idle */
	peer_stop();
}
END_TEST

/* What is numbered behind the last event is not waited for. */
START_TEST(test_events_behind_the_end)
{
	start_process();
	say_output(4, "four");
	say_end("closed", 1);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("closed;");
	ck_assert_int_gt(execsrv_wait_ms(x), 10000);	/* idle */
	peer_stop();
}
END_TEST

START_TEST(test_streams)
{
	static const char *const	 names[] = {
		"stdout", "stderr", "pty"
	};
	char				 want[64];
	unsigned			 i;

	start_process();
	for (i = 0; i < 3; i++) {
		peer_say("{\"method\":\"process/output\",\"params\":"
		    "{\"seq\":%u,"
		    "\"chunk\":\"YQ==\",\"stream\":\"%s\",\"x\":[],"
		    "\"processId\":\"p1\"}}", i + 1, names[i]);
		ck_assert_int_eq(peer_turn(), 0);
		snprintf(want, sizeof(want), "%u:a;", i);
		peer_ck_trace(want);
	}
	peer_stop();
}
END_TEST

static const char *const	 malformed[] = {
	"output\",\"params\":{\"processId\":\"p1\"}",
	"output\",\"params\":{\"processId\":\"p1\",\"seq\":1}",
	"output\",\"params\":{\"processId\":\"p1\",\"seq\":1,"
	    "\"stream\":\"stdout\",\"chunk\":\"?\"}",
	"output\",\"params\":{\"processId\":\"p1\",\"seq\":1,"
	    "\"stream\":\"stdout\",\"chunk\":[]}",
	"output\",\"params\":{\"processId\":\"p1\",\"seq\":1,"
	    "\"stream\":\"stdin\",\"chunk\":\"\"}",
	"output\",\"params\":{\"processId\":\"p1\",\"seq\":1,"
	    "\"stream\":1,\"chunk\":\"\"}",
	"output\",\"params\":{\"processId\":\"p1\",\"seq\":1,\"chunk\":\"\"}",
	"exited\",\"params\":{\"processId\":\"p1\",\"seq\":1}",
	"exited\",\"params\":{\"processId\":\"p1\",\"seq\":1,"
	    "\"exitCode\":null}",
	"exited\",\"params\":{\"processId\":\"p1\",\"seq\":1,"
	    "\"exitCode\":2147483648}",
	"exited\",\"params\":{\"processId\":\"p1\",\"seq\":1,"
	    "\"exitCode\":1.0}",
	"exited\",\"params\":{\"processId\":\"p1\",\"exitCode\":1}",
	"closed\",\"params\":{\"processId\":\"p1\"}",
	"closed\",\"params\":{\"processId\":\"p1\",\"seq\":\"1\"}",
	"closed\",\"params\":{\"processId\":\"p1\",\"seq\":-1}",
	"closed\",\"params\":{\"processId\":\"p1\","
	    "\"seq\":18446744073709551615}",
};

START_TEST(test_malformed)
{
	start_process();
	peer_say("{\"method\":\"process/%s}", malformed[_i]);
	ck_assert_int_eq(peer_turn(), -1);
	ck_assert_ptr_nonnull(strstr(execsrv_why(x)->text,
	    "the server sent a malformed process/"));
	ck_assert_ptr_eq(strstr(trace, "lost the server sent a malformed "),
	    trace);
	peer_stop();
}
END_TEST

START_TEST(test_missing_event)
{
	start_process();
	say_output(2, "two");
	ck_assert_int_eq(peer_turn(), 0);
	/* As if some time had passed. */
	execsrv_hold(x, true);
	ck_assert_int_gt(execsrv_wait_ms(x), 0);
	execsrv_hold(x, false);
	ck_assert_int_gt(execsrv_wait_ms(x), 9000);
	peer_stop();
}
END_TEST

/* A server that sends everything but the first: it costs no more than so. */
START_TEST(test_early_flood)
{
	char		*text, *chunk;
	size_t		 size = 1 << 20, n;
	unsigned	 i;

	start_process();
	for (i = 2; peer_turn() == 0; i++) {
		say_output(i, "");
		ck_assert_uint_lt(i, 5000);
	}
	ck_assert_str_eq(execsrv_why(x)->text, "the server skipped an event");
	ck_assert_uint_gt(i, 4000);
	peer_stop();

	start_process();
	ck_assert_ptr_nonnull(text = malloc(2 * size));
	ck_assert_ptr_nonnull(chunk = calloc(1, size));
	for (i = 2; x->state == EXECSRV_OPEN; i++) {
		n = (size_t)sprintf(text, "{\"method\":\"process/output\","
		    "\"params\":{\"processId\":\"p1\",\"seq\":%u,"
		    "\"stream\":\"pty\",\"chunk\":\"", i);
		n += b64_encode(text + n, chunk, size);
		n += (size_t)sprintf(text + n, "\"}}");
		execsrv_on_message(x, text, n);
		ck_assert_uint_lt(i, 100);
	}
	ck_assert_uint_eq(i, 2 + 16 + 1);
	free(text);
	free(chunk);
	peer_stop();
}
END_TEST

/* --- holding --- */

START_TEST(test_hold)
{
	start_process();
	execsrv_hold(x, true);
	ck_assert_int_eq(transport_poll_events(&x->transport), 0);
	say_output(1, "one");
	ck_assert_int_eq(execsrv_handle(x, POLLIN), 0);
	peer_ck_trace("");
	ck_assert_int_gt(execsrv_wait_ms(x), 4000);
	/* A sign of life when it takes longer. */
	x->transport.last_sent -= 6000;
	ck_assert_int_eq(execsrv_wait_ms(x), 0);
	ck_assert_int_eq(execsrv_handle(x, 0), 0);
	ck_assert_int_eq(peer_heard().type, WS_EV_PONG);
	ck_assert_int_gt(execsrv_wait_ms(x), 4000);
	execsrv_hold(x, false);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0:one;");
	peer_stop();
}
END_TEST

/* --- the last hook --- */

/* For good: each process that had no last hook gets one. */
START_TEST(test_lost_for_good)
{
	struct execsrv_start	 s = { .argv = argv_a, .cwd = "/" };
	int			 i;

	peer_start();
	for (i = 0; i < 4; i++)
		ck_assert_ptr_nonnull(execsrv_process_start(x, &s, &hooks,
		    NULL));
	peer_say("{\"id\":1,\"result\":{\"processId\":\"p1\"}}");
	peer_say("{\"id\":2,\"error\":{\"code\":-3,\"message\":\"no\"}}");
	peer_say("{\"id\":4,\"result\":{\"processId\":\"p4\"}}");
	peer_say("{\"method\":\"process/exited\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":1,\"exitCode\":0,\"sandboxDenied\":false}}");
	peer_say("{\"method\":\"process/closed\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":2}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("start;start -3 no;start;exit 0;closed;");
	shutdown(peer, SHUT_RDWR);
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("lost the server closed the connection;"
	    "lost the server closed the connection;");
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("");
	peer_stop();
}
END_TEST

/* --- freed where it is told something --- */

static struct execsrv_process	*mine;

static void
free_mine(void)
{
	execsrv_process_free(&mine);
	peer_note("freed;");
}

static void
free_on_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	(void)arg;
	(void)what;
	(void)e;
	free_mine();
}

static void
free_on_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	(void)arg;
	(void)stream;
	(void)data;
	(void)len;
	free_mine();
}

static void
free_on_exited(void *arg, int exit_code, bool sandbox_denied)
{
	(void)arg;
	(void)exit_code;
	(void)sandbox_denied;
	free_mine();
}

static void
free_on_closed(void *arg)
{
	(void)arg;
	free_mine();
}

static void
free_on_lost(void *arg, const struct execsrv_error *e)
{
	(void)arg;
	(void)e;
	free_mine();
}

static const struct execsrv_hooks	 freeing[] = {
	{ .on_answer = free_on_answer }, { .on_output = free_on_output },
	{ .on_exited = free_on_exited }, { .on_closed = free_on_closed },
	{ .on_lost = free_on_lost }
};

/* Events that wait for their turn are on the way when it goes. */
START_TEST(test_free_inside)
{
	struct execsrv_start	 s = { .argv = argv_a, .cwd = "/" };

	peer_start();
	ck_assert_ptr_nonnull(mine = execsrv_process_start(x, &s,
	    &freeing[_i], NULL));
	peer_say("{\"id\":1,\"result\":{\"processId\":\"p1\"}}");
	say_end("closed", 4);
	say_end("exited", 3);
	say_output(2, "two");
	say_output(1, "one");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace(_i < 4 ? "freed;" : "");
	ck_assert(_i == 4 || TAILQ_EMPTY(&x->processes.live));
	ck_assert(TAILQ_EMPTY(&x->processes.freed));
	shutdown(peer, SHUT_RDWR);
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("");
	peer_stop();
}
END_TEST

/* Lost for good: it may go with its last hook, and others with it. */
START_TEST(test_free_when_lost)
{
	struct execsrv_start	 s = { .argv = argv_a, .cwd = "/" };

	peer_start();
	ck_assert_ptr_nonnull(execsrv_process_start(x, &s, &freeing[4],
	    NULL));
	ck_assert_ptr_nonnull(mine = execsrv_process_start(x, &s,
	    &freeing[4], NULL));
	shutdown(peer, SHUT_RDWR);
	ck_assert_int_eq(peer_turn(), -1);
	/* The first one's hook freed the second, which hears no more. */
	peer_ck_trace("freed;");
	peer_stop();
}
END_TEST

/* --- a session that ends --- */

START_TEST(test_ending)
{
	start_process();
	strcpy(x->opening.session, "s");
	x->recovery.recover_ms = 1000;
	ck_assert_int_eq(execsrv_status(x), EXECSRV_CONNECTED);
	peer_say("{\"method\":\"session/ending\",\"params\":{\"reason\":"
	    "\"the server stops\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_int_eq(execsrv_status(x), EXECSRV_ENDING);
	/* What was running is heard to its end. */
	say_output(1, "one");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0:one;");
	ck_assert_int_eq(execsrv_call(x, "m", NULL, 0, NULL, NULL), 0);
	/* Nobody asks for such a session again. */
	peer_frame(0x88, "\x03\xe9" "the server stops", 18);
	ck_assert_int_eq(peer_turn(), -1);
	ck_assert_int_eq(execsrv_status(x), EXECSRV_FAILED);
	ck_assert_str_eq(execsrv_why(x)->text, "the server closed the "
	    "connection (1001: the server stops)");
	peer_stop();
}
END_TEST

/* Gone while held: noticed later, and nothing spins until then. */
START_TEST(test_hold_gone)
{
	start_process();
	execsrv_hold(x, true);
	say_output(1, "one");
	close(peer);
	peer = -1;
	x->transport.last_sent -= 6000;
	ck_assert_int_eq(execsrv_handle(x, 0), 0);
	ck_assert(x->transport.out_broken);
	ck_assert_int_eq(transport_poll_events(&x->transport), 0);
	ck_assert_int_gt(execsrv_wait_ms(x), 4000);
	execsrv_hold(x, false);
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("0:one;lost the server closed the connection;");
	peer_stop();
}
END_TEST

/* --- whether a sandbox was the cause --- */

static void
say_exit(unsigned seq, const char *more)
{
	peer_say("{\"method\":\"process/exited\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":%u,\"exitCode\":3%s}}", seq, more);
}

/* A server that says it all is never asked. */
START_TEST(test_no_reads)
{
	static const char	*said[] = { ",\"sandboxDenied\":true",
				    ",\"sandboxDenied\":false" };

	start_process();
	say_output(2, "two");
	say_output(1, "one");
	say_exit(4, said[_i]);
	say_output(3, "three");
	say_end("closed", 6);
	say_output(5, "five");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace(_i == 0 ?
	    "0:one;0:two;0:three;exit 3 denied;0:five;closed;" :
	    "0:one;0:two;0:three;exit 3;0:five;closed;");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_stop();
}
END_TEST

#define ASKED	"{\"id\":2,\"method\":\"process/read\",\"params\":"	\
		"{\"processId\":\"p1\",\"afterSeq\":2,\"waitMs\":0,"	\
		"\"maxBytes\":0}}"

static const struct {
	const char	*exit, *answer;
	bool		 is_denied;
} old_servers[] = {
	{ "", "\"result\":{\"chunks\":[],\"nextSeq\":5,\"exited\":true,"
	    "\"exitCode\":3,\"closed\":true,\"sandboxDenied\":true}", true },
	{ ",\"sandboxDenied\":null", "\"result\":{\"chunks\":[{\"seq\":3,"
	    "\"stream\":\"stdout\",\"chunk\":\"b25l\"}],\"nextSeq\":4,"
	    "\"sandboxDenied\":false}", false },
	{ "", "\"result\":{}", false },
	{ "", "\"result\":[]", false },
	{ "", "\"error\":{\"code\":-32600,\"message\":\"unknown\"}", false },
};

/* One that does not is asked once, and nothing overtakes the exit. */
START_TEST(test_compatibility_read)
{
	start_process();
	say_exit(2, old_servers[_i].exit);
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);	/* its turn */
	say_output(1, "one");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_heard(ASKED);
	say_exit(2, old_servers[_i].exit);
	say_output(3, "three");
	say_end("closed", 4);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0:one;");
	/* It may take its time. */
	ck_assert_int_gt(execsrv_wait_ms(x), 10000);	/* idle */
	peer_say("{\"id\":2,%s}", old_servers[_i].answer);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace(old_servers[_i].is_denied ?
	    "exit 3 denied;0:three;closed;" : "exit 3;0:three;closed;");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_stop();
}
END_TEST

START_TEST(test_compatibility_freed)
{
	start_process();
	say_exit(1, "");
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_int_eq(peer_heard().type, WS_EV_MESSAGE);
	execsrv_process_free(&p);
	peer_say("{\"id\":2,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
	peer_stop();
}
END_TEST

/* What the server said before it went is heard, also by one who writes. */
START_TEST(test_last_words)
{
	start_process();
	say_output(1, "one");
	say_end("exited", 2);
	close(peer);
	peer = -1;
	ck_assert_int_eq(execsrv_process_write(p, "x", 1), 0);
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("0:one;exit 3;"
	    "lost the server closed the connection;");
	peer_stop();
}
END_TEST

/* --- execsrv_open() and execsrv_close() --- */

static pid_t	 server;
static char	 url[80];
static char	 path[64];

static void
serve(int fd, const char *const *script)
{
	char	 head[2048], accept[HTTPHEAD_ACCEPT_LEN], *key;
	ssize_t	 n;

	n = recv(fd, head, sizeof(head) - 1, 0);
	head[n > 0 ? n : 0] = '\0';
	if ((key = strstr(head, "Key: ")) == NULL)
		_exit(1);
	httphead_accept(key + 5, EXECSRV_KEY_LEN, accept);
	peer = fd;
	n = snprintf(head, sizeof(head), OK UP CO
	    "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
	peer_put(head, (size_t)n);
	ws_reader_init(&peer_reader, true, LIMIT_FRAME, LIMIT_MESSAGE);
	x = NULL;
	if (peer_heard().type != WS_EV_MESSAGE)	/* initialize */
		_exit(2);
	for (; *script != NULL; script++)
		peer_say("%s", *script);
	/* Until the client goes; how it does is the exit status. */
	for (;;) {
		struct ws_event	 ev = peer_heard();

		if (ev.type == WS_EV_CLOSE)
			_exit(ev.code == 1000 ? 42 : 43);
		if (ev.type == WS_EV_NONE)
			_exit(44);
	}
}

static void
start_server(const char *const *script)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };
	int			 fd, one;

	snprintf(path, sizeof(path), "/tmp/check_client.%ld", (long)getpid());
	snprintf(url, sizeof(url), "unix:%s", path);
	strcpy(un.sun_path, path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	fflush(NULL);
	ck_assert_int_ne(server = fork(), -1);
	if (server == 0) {
		alarm(30);
		if ((one = accept(fd, NULL, NULL)) == -1 || script == NULL)
			_exit(1);
		serve(one, script);
	}
	close(fd);
}

static void
ck_server(int wanted)
{
	int	 status;

	ck_assert_int_eq(waitpid(server, &status, 0), server);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), wanted);
	unlink(path);
}

START_TEST(test_open)
{
	static const char *const	 script[] = {
		"{\"method\":\"early\"}",
		"{\"id\":1,\"result\":{\"sessionId\":\"s\",\"environmentInfo\":"
		"{\"cwd\":\"file:///a%20b\",\"capabilities\":"
		"{\"execsrvPtySize\":true,\"execsrvProcessList\":false,"
		"\"execsrvProcessResize\":1,\"other\":true}}}}", NULL
	};
	struct execsrv_error		 e = { .text = "" };
	struct execsrv			*c;

	start_server(script);
	c = execsrv_open(url, NULL, &e);
	ck_assert_msg(c != NULL, "%s", e.text);
	ck_assert_str_eq(execsrv_why(c)->text, "");
	ck_assert_str_eq(execsrv_cwd(c), "/a b");
	ck_assert(execsrv_is_local(c));
	ck_assert(execsrv_can(c, "execsrvPtySize"));
	ck_assert(!execsrv_can(c, "execsrvProcessList"));
	ck_assert(!execsrv_can(c, "execsrvProcessResize"));
	ck_assert(!execsrv_can(c, "other"));
	execsrv_close(&c);
	ck_assert_ptr_null(c);
	execsrv_close(&c);
	ck_server(42);
}
END_TEST

static const struct {
	const char	*answer;
	const char	*why;		/* NULL: it is good enough */
	int64_t		 code;
} greetings[] = {
	{ "{\"id\":1,\"result\":{\"sessionId\":\"s\"}}", NULL, 0 },
	{ "{\"id\":1,\"result\":{\"sessionId\":\"s\",\"environmentInfo\":[]}}",
	    NULL, 0 },
	{ "{\"id\":1,\"result\":{\"sessionId\":\"s\",\"environmentInfo\":"
	    "{\"cwd\":\"file://elsewhere/\",\"capabilities\":[1]}}}", NULL,
	    0 },
	{ "{\"id\":1,\"result\":{\"sessionId\":7}}",
	    "the server's answer to initialize is malformed", 0 },
	{ "{\"id\":1,\"result\":[]}",
	    "the server's answer to initialize is malformed", 0 },
	{ "{\"id\":1,\"error\":{\"code\":-7,\"message\":\"m\"}}", "m", -7 },
	{ "{\"id\":2,\"result\":{}}",
	    "the server sent a response to no request", 0 },
	{ "?", NO_RPC, 0 },
};

START_TEST(test_greeting)
{
	const char *const	 script[] = { greetings[_i].answer, NULL };
	struct execsrv_error	 e = { .text = "" };
	struct execsrv		*c;

	start_server(script);
	c = execsrv_open(url, NULL, &e);
	if (greetings[_i].why == NULL) {
		ck_assert_msg(c != NULL, "%s", e.text);
		execsrv_close(&c);
	} else {
		ck_assert_ptr_null(c);
		ck_assert_str_eq(e.text, greetings[_i].why);
		ck_assert_int_eq(e.code, greetings[_i].code);
	}
	ck_server(greetings[_i].why == NULL ? 42 : 44);
}
END_TEST

START_TEST(test_nobody)
{
	struct execsrv_error	 e = { .text = "" };

	start_server(NULL);		/* accepts and goes */
	ck_assert_ptr_null(execsrv_open(url, NULL, &e));
	/* At once, or when the request was sent. */
	ck_assert_msg(strstr(e.text, "closed") != NULL ||
	    strstr(e.text, "lost") != NULL || strstr(e.text, "send") != NULL,
	    "%s", e.text);
	ck_server(1);
	ck_assert_ptr_null(execsrv_open(url, NULL, &e));
	ck_assert_ptr_nonnull(strstr(e.text, strerror(ENOENT)));
}
END_TEST

static Suite *
client_suite(void)
{
	Suite	*s = suite_create("client");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_url, 0, (int)COUNT(urls));
	tcase_add_loop_test(t, test_bad_url, 0, (int)COUNT(bad_urls));
	tcase_add_loop_test(t, test_public_url, 0, (int)COUNT(listens));
	tcase_add_test(t, test_not_to_connect);
	tcase_add_loop_test(t, test_listen_url, 0, (int)COUNT(doors));
	tcase_add_test(t, test_long_url);
	tcase_add_test(t, test_request);
	tcase_add_test(t, test_request_token);
	tcase_add_loop_test(t, test_answer, 0, (int)COUNT(answers));
	tcase_add_loop_test(t, test_answer_why, 0,
	    sizeof(bodies) / sizeof(bodies[0]));
	tcase_add_test(t, test_answer_lines);
	tcase_add_loop_test(t, test_upgrade_pieces, 0,
	    (int)strlen(UPGRADED) + 20);
	tcase_add_test(t, test_upgrade_endless);
	tcase_add_test(t, test_upgrade_end);
	tcase_add_test(t, test_printable);
	tcase_add_test(t, test_error_kinds);
	tcase_add_test(t, test_error_cut);
	tcase_add_loop_test(t, test_message, 0, (int)COUNT(messages));
	tcase_add_test(t, test_requests_of_servers);
	tcase_add_loop_test(t, test_frame, 0, (int)COUNT(frames));
	tcase_add_test(t, test_fragments);
	tcase_add_test(t, test_ping_flood);
	tcase_add_test(t, test_long_message);
	tcase_add_test(t, test_too_long_message);
	tcase_add_test(t, test_calls);
	tcase_add_test(t, test_ask);
	tcase_add_test(t, test_close_session);
	tcase_add_test(t, test_start);
	tcase_add_test(t, test_start_refused);
	tcase_add_test(t, test_process_requests);
	tcase_add_test(t, test_process_requests_failed);
	tcase_add_test(t, test_write_chunks);
	tcase_add_test(t, test_events);
	tcase_add_test(t, test_events_behind_the_end);
	tcase_add_test(t, test_streams);
	tcase_add_loop_test(t, test_malformed, 0, (int)COUNT(malformed));
	tcase_add_test(t, test_missing_event);
	tcase_add_test(t, test_early_flood);
	tcase_add_test(t, test_hold);
	tcase_add_test(t, test_hold_gone);
	tcase_add_test(t, test_lost_for_good);
	tcase_add_loop_test(t, test_free_inside, 0, 5);
	tcase_add_test(t, test_free_when_lost);
	tcase_add_test(t, test_ending);
	tcase_add_loop_test(t, test_no_reads, 0, 2);
	tcase_add_loop_test(t, test_compatibility_read, 0,
	    (int)COUNT(old_servers));
	tcase_add_test(t, test_compatibility_freed);
	tcase_add_test(t, test_last_words);
	tcase_add_test(t, test_open);
	tcase_add_loop_test(t, test_greeting, 0, (int)COUNT(greetings));
	tcase_add_test(t, test_nobody);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(client_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
