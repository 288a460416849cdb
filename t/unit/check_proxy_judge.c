/*
 * worker/proxy/helper/proxy_judge.c, proxy_answer.c, proxy_socks.c: who may
 * reach what, and what is said of it.
 */
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t/unit/proxy_help.h"
#include "t/unit/proxy_stand_in.h"

/* --- SOCKS --- */

#define REPLY(code) "\5" code "\0\1\0\0\0\0\0\0"

static void
greet(void)
{
	px_start(IPC__PROXY_KIND__PROXY_SOCKS, 0);
	px_put_bytes(px.client, "\5\1", 2);
	px_ck_got(px.client, "");
	px_put_bytes(px.client, "\0", 1);
	px_ck_got_bytes(px.client, "\5\0", 2);
}

static void
socks_name(const char *name)
{
	char	 text[300];
	int	 n;

	n = snprintf(text, sizeof(text), "%c%c%c%c%c%s%c%c", 5, 1, 0, 3,
	    (char)strlen(name), name, 1, 0xbb);
	px_put_bytes(px.client, text, (size_t)n - 1);
	px_ck_did("");
	px_put_bytes(px.client, text + n - 1, 1);
}

static const struct {
	int		 error;
	const char	*reply;
} unreached[] = {
	{ ECONNREFUSED, REPLY("\5") }, { ETIMEDOUT, REPLY("\4") },
	{ EHOSTUNREACH, REPLY("\4") }
};

START_TEST(test_socks)
{
	greet();
	socks_name("a.test");
	px_ck_did("allow by rules (allow): socks a.test:443; find a.test");
	if (_i == 3) {
		px_found(&(struct netaddr){ .family = AF_INET }, 0);
		px_ck_got_bytes(px.client, REPLY("\2"), 10);
	} else {
		px_found((const struct netaddr[]){
		    { AF_INET, { 192, 0, 2, 1 } } }, 1);
		px_ck_did("connect 192.0.2.1:443");
		px_connected(unreached[_i].error);
		px_ck_got_bytes(px.client, unreached[_i].reply, 10);
	}
	ck_assert(px_is_over(px.client));
}
END_TEST

START_TEST(test_socks_refused)
{
	greet();
	socks_name("no.test");
	px_ck_did("deny by rules (denied): socks no.test:443");
	px_ck_got_bytes(px.client, REPLY("\2"), 10);
	ck_assert(px_is_over(px.client));
}
END_TEST

START_TEST(test_socks_method)
{
	px.net.rules.is_limited = true;
	greet();
	socks_name("a.test");
	px_ck_did("deny by mode (method_not_allowed): "
	    "socks a.test:443 general");
	px_ck_got_bytes(px.client, REPLY("\2"), 10);
}
END_TEST

START_TEST(test_socks_wrong)
{
	static const struct {
		const char	*in, *out;
		size_t		 n, n_out;
	} rows[] = {
		{ "\5\1\2", "\5\377", 3, 2 },
		{ "\4\1", "", 2, 0 },
		{ "\5\1\0\5\2\0\1\1\2\3\4\0\1", "\5\0" REPLY("\7"), 13, 12 },
		{ "\5\1\0\4", "\5\0", 4, 2 },
	};

	px_start(IPC__PROXY_KIND__PROXY_SOCKS, 0);
	px_put_bytes(px.client, rows[_i].in, rows[_i].n);
	px_ck_got_bytes(px.client, rows[_i].out, rows[_i].n_out);
	ck_assert(px_is_over(px.client));
}
END_TEST

/* --- refused --- */

#define TEXT_403(error, n, text) \
	"HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\n" \
	"content-length: " n "\r\nx-proxy-error: " error "\r\n" \
	"connection: close\r\n\r\n" text

static const struct {
	const char	*request, *did, *answer;
	bool		 is_limited, is_strict;
} refused[] = {
	{ "CONNECT no.test:1 HTTP/1.1\r\nHost: no.test:1\r\n\r\n",
	  "deny by rules (denied): connect CONNECT no.test:1",
	  TEXT_403("blocked-by-denylist", "21", "The domain is denied."),
	  false, false },
	{ "CONNECT c.test:1 HTTP/1.1\r\nHost: c.test:1\r\n\r\n",
	  "deny by rules (not_allowed): connect CONNECT c.test:1",
	  TEXT_403("blocked-by-allowlist", "46",
	  "The domain is not on the list of allowed ones."), false, false },
	{ "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
	  "deny by rules (not_allowed_local): connect CONNECT 127.0.0.1:1",
	  TEXT_403("blocked-by-allowlist", "54",
	  "Local and private addresses must be listed themselves."),
	  false, true },
	{ PX_TUNNEL, "allow by rules (allow): connect CONNECT a.test:443; "
	  "deny by mode (mitm_required): connect CONNECT a.test:443 general",
	  TEXT_403("blocked-by-mitm-required", "24",
	  "Tunnels are not allowed."), true, false },
	{ "HEAD http://no.test/ HTTP/1.1\r\nHost: no.test\r\n\r\n",
	  "deny by rules (denied): http HEAD no.test:80",
	  "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\n"
	  "content-length: 162\r\nx-proxy-error: blocked-by-denylist\r\n"
	  "connection: close\r\n\r\n", false, false },
	{ "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
	  "allow by rules (allow): http POST a.test:80; "
	  "deny by mode (method_not_allowed): http POST a.test:80 general",
	  "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\n"
	  "content-length: 186\r\nx-proxy-error: blocked-by-method-policy\r\n"
	  "connection: close\r\n\r\n{\"status\":\"blocked\","
	  "\"host\":\"a.test\",\"reason\":\"method_not_allowed\","
	  "\"decision\":\"deny\",\"source\":\"mode_guard\","
	  "\"protocol\":\"http\",\"port\":80,"
	  "\"message\":\"Only GET, HEAD and OPTIONS are allowed.\"}",
	  true, false },
	{ "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	  "x-unix-socket: /s\r\n\r\n",
	  "deny by state (unix_socket_unsupported): http GET unix-socket:0 "
	  "general",
	  "HTTP/1.1 501 Not Implemented\r\ncontent-type: text/plain\r\n"
	  "content-length: 30\r\nconnection: close\r\n\r\n"
	  "Unix sockets are not supported", false, false },
	{ "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", "",
	  "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n"
	  "content-length: 0\r\nconnection: close\r\n\r\n", false, false },
	{ "GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "",
	  "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain\r\n"
	  "content-length: 31\r\nconnection: close\r\n\r\n"
	  "the request cannot be passed on", false, false },
};

START_TEST(test_refused)
{
	px.net.rules.is_limited = refused[_i].is_limited;
	px.net.rules.allows_local = !refused[_i].is_strict;
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, refused[_i].request);
	px_ck_did(refused[_i].did);
	px_ck_got(px.client, refused[_i].answer);
	ck_assert(px_is_over(px.client));
	close(px.client);
	px.client = -1;
	px_turns();
	px_ck_did("end");
}
END_TEST

/* One address that may not be reached is enough. */
START_TEST(test_addresses)
{
	struct netaddr	 list[] = {
		{ AF_INET, { 192, 0, 3, 1 } }, { AF_INET, { 192, 0, 3, 2 } }
	};

	px.net.rules.allows_local = false;
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, PX_TUNNEL);
	px_ck_did("find a.test");
	if (_i == 0)
		px.own = "192.0.3.2";
	else if (_i == 1)
		memcpy(list[0].byte, "\12\0\0\1", 4);
	else if (_i == 2)
		ck_assert_int_eq(netrules_add(&px.net.rules, NETRULES_FORBID,
		    "192.0.3.1"), 0);
	px_found(list, _i == 3 ? 0 : 2);
	if (_i == 4) {
		px_ck_did("allow by rules (allow): connect CONNECT a.test:443; "
		    "connect 192.0.3.1:443 192.0.3.2:443");
		return;
	}
	px_ck_did(_i == 2 ?
	    "allow by rules (allow): connect CONNECT a.test:443; "
	    "deny by rules (policy_denied): connect CONNECT a.test:443" :
	    "deny by rules (not_allowed_local): connect CONNECT a.test:443");
	ck_assert(px.way.fn == NULL);
}
END_TEST

/* --- the client decides --- */

START_TEST(test_asked)
{
	struct proxy_conn	*c;

	px.net.rules.asks = true;
	c = px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client,
	    "CONNECT c.test:443 HTTP/1.1\r\nHost: c.test:443\r\n\r\n");
	px_ck_did("ask 1 connect c.test:443");
	proxy_conn_answer(&px.net, 0, IPC__PROXY_VERDICT__PROXY_ALLOW, "");
	proxy_conn_answer(&px.net, 2, IPC__PROXY_VERDICT__PROXY_ALLOW, "");
	ck_assert_int_eq(c->state, CONN_JUDGING);
	px_ck_did("");
	if (_i == 0) {
		proxy_conn_answer(&px.net, 1, IPC__PROXY_VERDICT__PROXY_ALLOW,
		    "");
		px_ck_did("allow by decider (not_allowed): "
		    "connect CONNECT c.test:443 overrides; find c.test");
	} else if (_i == 1) {
		proxy_conn_answer(&px.net, 1, IPC__PROXY_VERDICT__PROXY_DENY,
		    "not_allowed");
		px_ck_did("deny by decider (not_allowed): "
		    "connect CONNECT c.test:443");
		px_ck_got(px.client, TEXT_403("blocked-by-allowlist", "46",
		    "The domain is not on the list of allowed ones."));
	} else {
		proxy_conn_answer(&px.net, 1, IPC__PROXY_VERDICT__PROXY_ASKED,
		    "why not");
		px_ck_did("asked by decider (why not): "
		    "connect CONNECT c.test:443");
		px_ck_got(px.client, TEXT_403("blocked-by-policy", "39",
		    "The network policy does not allow this."));
	}
	/* Once. */
	proxy_conn_answer(&px.net, 1, IPC__PROXY_VERDICT__PROXY_ALLOW, "");
	px_ck_did("");
}
END_TEST

/* A host that is listed, and reviewed, is allowed by both. */
START_TEST(test_reviewed)
{
	px.net.rules.asks = true;
	ck_assert_int_eq(netrules_add(&px.net.rules, NETRULES_REVIEW, "a.test"),
	    0);
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, PX_TUNNEL);
	px_ck_did("ask 1 connect a.test:443");
	proxy_conn_answer(&px.net, 1, IPC__PROXY_VERDICT__PROXY_ALLOW, "");
	px_ck_did("allow by decider (allow): connect CONNECT a.test:443; "
	    "find a.test");
}
END_TEST

/* --- another proxy --- */

START_TEST(test_upstream)
{
	char	 text[] = "http://u:p@192.0.2.9:3128";

	px.net.uses_upstream = true;
	px.shared.upstream.http = px.shared.upstream.https = text;
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, PX_TUNNEL "early");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_ck_did("allow by rules (allow): connect CONNECT a.test:443; "
	    "find a.test; connect 192.0.2.9:3128");
	px_connected(0);
	px_ck_got(px.server,
	    "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
	    "Proxy-Authorization: Basic dTpw\r\n\r\n");
	px_ck_got(px.client, "");
	if (_i == 0) {
		px_put(px.server, "HTTP/1.1 200 OK\r\n\r\nhello");
		px_ck_got(px.client, PX_READY "hello");
		px_ck_got(px.server, "early");
	} else if (_i == 1) {
		px_put(px.server, "HTTP/1.1 407 No\r\n\r\nhello");
		px_ck_got(px.client, PX_FAILED);
		ck_assert(px_is_over(px.server));
	} else {
		shutdown(px.server, SHUT_WR);
		px_ck_got(px.client, PX_FAILED);
	}
}
END_TEST

START_TEST(test_upstream_plain)
{
	char	 text[] = "http://u:p@proxy.test:3128";

	px.net.uses_upstream = true;
	px.shared.upstream.http = text;
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, PX_GET);
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_ck_did("allow by rules (allow): http GET a.test:80; find a.test; "
	    "find proxy.test");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 9 } } }, 1);
	px_ck_did("connect 192.0.2.9:3128");
	px_connected(0);
	px_ck_got(px.server, "GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n"
	    "Proxy-Authorization: Basic dTpw\r\n\r\n");
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxy_judge");
	TCase	*t = tcase_create("proxy_judge");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, px_setup, px_teardown);
	tcase_add_loop_test(t, test_socks, 0, 4);
	tcase_add_test(t, test_socks_refused);
	tcase_add_test(t, test_socks_method);
	tcase_add_loop_test(t, test_socks_wrong, 0, 4);
	tcase_add_loop_test(t, test_refused, 0,
	    sizeof(refused) / sizeof(refused[0]));
	tcase_add_loop_test(t, test_addresses, 0, 5);
	tcase_add_loop_test(t, test_asked, 0, 3);
	tcase_add_test(t, test_reviewed);
	tcase_add_loop_test(t, test_upstream, 0, 3);
	tcase_add_test(t, test_upstream_plain);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
