/*
 * worker/proxy/helper/proxy_conn.c, proxy_http.c: how a connection carries
 * requests, answers and tunnels, and when it ends.
 */
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limit.h"
#include "t/unit/proxy_help.h"
#include "t/unit/proxy_stand_in.h"

#define TURNS	100000

/* --- requests --- */

START_TEST(test_exchange)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_ask_a();
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, "HTTP/1.1 100 Continue\r\n\r\n");
	px_ck_got(px.client, "HTTP/1.1 100 Continue\r\n\r\n");
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	/* The same server is asked again, after the rules. */
	px_put(px.client, PX_GET);
	px_ck_did("allow by rules (allow): http GET a.test:80; find a.test");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_ck_did("");
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	close(px.client);
	px.client = -1;
	px_turns();
	px_ck_did("end");
	ck_assert(px_is_over(px.server));
	ck_assert_uint_eq(px.net.n, 0);
}
END_TEST

/* One that comes early waits for its turn; each is judged. */
START_TEST(test_pipelined)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, PX_GET
	    "GET http://no.test/ HTTP/1.1\r\nHost: no.test\r\n\r\n");
	px_ck_did("allow by rules (allow): http GET a.test:80; find a.test");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_connected(0);
	px_ck_did("connect 192.0.2.1:80");
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, PX_OK);
	px_ck_did("deny by rules (denied): http GET no.test:80");
	px_ck_got(px.client, PX_OK
	    "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\n"
	    "content-length: 162\r\nx-proxy-error: blocked-by-denylist\r\n"
	    "connection: close\r\n\r\n{\"status\":\"blocked\","
	    "\"host\":\"no.test\",\"reason\":\"denied\","
	    "\"decision\":\"deny\",\"source\":\"baseline_policy\","
	    "\"protocol\":\"http\",\"port\":80,"
	    "\"message\":\"The domain is denied.\"}");
}
END_TEST

/* Another host, or port, is another server. */
START_TEST(test_other_server)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_ask_a();
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	px_put(px.client,
	    "GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	ck_assert(px_is_over(px.server));
	px_connected(0);
	px_ck_did("allow by rules (allow): http GET b.test:80; find b.test; "
	    "connect 192.0.2.1:80");
	px_ck_got(px.server, "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	px_put(px.client, "GET http://b.test:81/ HTTP/1.1\r\n"
	    "Host: b.test:81\r\n\r\n");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_ck_did("allow by rules (allow): http GET b.test:81; find b.test; "
	    "connect 192.0.2.1:81");
}
END_TEST

/* One that has closed, or said that it will, is not asked again. */
START_TEST(test_closing_server)
{
	static const char	 last[] = "HTTP/1.1 200 OK\r\n"
				    "Connection: close\r\n"
				    "Content-Length: 0\r\n\r\n";

	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_ask_a();
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, last);
	px_ck_got(px.client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert(px_is_over(px.server));
	px_ask_a();
	px_ck_got(px.server, PX_SENT);
	/* What follows an answer is nobody's. */
	px_put(px.server, PX_OK "X");
	px_ck_got(px.client, PX_OK);
	ck_assert(px_is_over(px.server));
	px_ask_a();
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	shutdown(px.server, SHUT_WR);
	px_turns();
	ck_assert(px_is_over(px.server));
	px_ask_a();
	px_ck_got(px.server, PX_SENT);
}
END_TEST

/* One that closes as the next request comes has done nothing with it. */
START_TEST(test_again)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_ask_a();
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	px_put(px.client, PX_GET);
	px.did[0] = '\0';
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 3 } } }, 1);
	px_ck_got(px.server, PX_SENT);
	shutdown(px.server, SHUT_WR);
	px_turns();
	px_ck_did("connect 192.0.2.3:80");
	px_connected(0);
	px_ck_got(px.server, PX_SENT);
	/* Not a second time. */
	shutdown(px.server, SHUT_WR);
	px_turns();
	px_ck_did("");
	px_ck_got(px.client, PX_FAILED);
	ck_assert(px_is_over(px.client));
	close(px.client);
	px.client = -1;
	px_turns();
	px_ck_did("end");
}
END_TEST

/* A part of an answer is never followed by one of ours. */
START_TEST(test_cut_answer)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_ask_a();
	px_put(px.server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh");
	px_ck_got(px.client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh");
	shutdown(px.server, SHUT_WR);
	px_turns();
	px_ck_did("end");
	ck_assert(px_is_over(px.client));
}
END_TEST

/* Without a length the end of the connection is that of the answer. */
START_TEST(test_to_end)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_ask_a();
	px_put(px.server, "HTTP/1.1 200 OK\r\n\r\nabc");
	px_ck_got(px.client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
	px_put(px.server, "def");
	px_ck_got(px.client, "def");
	ck_assert(!px_is_over(px.client));
	shutdown(px.server, SHUT_WR);
	px_turns();
	ck_assert(px_is_over(px.client));
}
END_TEST

START_TEST(test_bad_answer)
{
	static const char *const bad[] = {
		"HTTP/2.0 200 OK\r\n\r\n", "hello\r\n\r\n",
		"HTTP/1.1 101 Switching\r\n\r\n"
	};

	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_ask_a();
	px_put(px.server, bad[_i]);
	px_ck_got(px.client, PX_FAILED);
	ck_assert(px_is_over(px.client));
}
END_TEST

START_TEST(test_body)
{
	static const char	 head[] = "POST http://a.test/ HTTP/1.1\r\n"
				    "Host: a.test\r\n"
				    "Content-Length: 1000000\r\n\r\n";

	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, head);
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_connected(0);
	px_ck_did("allow by rules (allow): http POST a.test:80; find a.test; "
	    "connect 192.0.2.1:80");
	px_ck_got(px.server, "POST / HTTP/1.1\r\nHost: a.test\r\n"
	    "Content-Length: 1000000\r\n\r\n");
	px_carry(px.client, px.server);
	px_put(px.server, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
	px_ck_got(px.client,
	    "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
	px_carry(px.server, px.client);
	/* The next one is a request again. */
	px_put(px.client, PX_GET);
	px.did[0] = '\0';
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_ck_got(px.server, PX_SENT);
}
END_TEST

/* The last answer goes whole, however slowly it is read. */
START_TEST(test_last_answer)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Connection: close\r\n\r\n");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } },
	    1);
	px_connected(0);
	px_ck_got(px.server, "GET / HTTP/1.1\r\nHost: a.test\r\n"
	    "Connection: close\r\n\r\n");
	px_put(px.server, "HTTP/1.1 200 OK\r\n"
	    "Content-Length: 1000000\r\n\r\n");
	px_ck_got(px.client, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n"
	    "Connection: close\r\n\r\n");
	px_carry(px.server, px.client);
	px_turns();
	ck_assert(px_is_over(px.client));
}
END_TEST

/* An answer that comes before the body has gone is the last one. */
START_TEST(test_early_answer)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Content-Length: 3\r\n\r\nab");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_connected(0);
	px_ck_got(px.server, "POST / HTTP/1.1\r\nHost: a.test\r\n"
	    "Content-Length: 3\r\n\r\nab");
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	ck_assert(px_is_over(px.client));
}
END_TEST

/* A server that has a part of a body that is wrong gets no more. */
START_TEST(test_bad_body)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_connected(0);
	px_put(px.client, "1\r\na\r\nx\r\n");
	px_ck_got(px.client, "HTTP/1.1 400 Bad Request\r\n"
	    "content-type: text/plain\r\ncontent-length: 0\r\n"
	    "connection: close\r\n\r\n");
	px_ck_got(px.server, "POST / HTTP/1.1\r\nHost: a.test\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n");
	ck_assert(px_is_over(px.server) && px_is_over(px.client));
}
END_TEST

/* --- tunnels --- */

static void
open_tunnel(void)
{
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, PX_TUNNEL "early");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } } }, 1);
	px_connected(0);
	px_ck_did("allow by rules (allow): connect CONNECT a.test:443; "
	    "find a.test; connect 192.0.2.1:443");
	px_ck_got(px.client, PX_READY);
	px_ck_got(px.server, "early");
}

START_TEST(test_tunnel)
{
	open_tunnel();
	px_carry(px.client, px.server);
	px_carry(px.server, px.client);
	/* The end of one direction is not that of the other. */
	shutdown(_i == 0 ? px.client : px.server, SHUT_WR);
	px_turns();
	ck_assert(px_is_over(_i == 0 ? px.server : px.client));
	px_ck_did("");
	if (_i == 0)
		px_carry(px.server, px.client);
	else
		px_carry(px.client, px.server);
	shutdown(_i == 0 ? px.server : px.client, SHUT_WR);
	px_turns();
	px_ck_did("end");
	ck_assert(px_is_over(_i == 0 ? px.client : px.server));
}
END_TEST

/* The end comes after what is queued. */
START_TEST(test_tunnel_end)
{
	char	 piece[60000], got[1000];
	size_t	 n = 0;
	ssize_t	 r;
	int	 i;

	open_tunnel();
	memset(piece, 'x', sizeof(piece));
	px_put_bytes(px.client, piece, sizeof(piece));
	shutdown(px.client, SHUT_WR);
	for (i = 0; i < TURNS; i++) {
		px_turns();
		if ((r = recv(px.server, got, sizeof(got), 0)) == 0)
			break;
		n += r > 0 ? (size_t)r : 0;
	}
	ck_assert_uint_eq(n, sizeof(piece));
	px_ck_did("");
	close(px.server);
	px.server = -1;
	px_turns();
	px_ck_did("end");
}
END_TEST

START_TEST(test_bridge)
{
	px_start(IPC__PROXY_KIND__PROXY_BRIDGE, 81);
	px_ck_did("connect 127.0.0.1:81");
	if (_i == 0) {
		px_connected(0);
		px_carry(px.client, px.server);
	} else {
		px_connected(ECONNREFUSED);
		px_ck_did("end");
		ck_assert(px_is_over(px.client));
	}
}
END_TEST

/* --- time and room --- */

/* As if nothing had come for so long. */
static void
idle(struct proxy_conn *c, uint64_t ms)
{
	c->last_ms = clock_ms() - ms;
	timer_set(&c->timer, 0);
	px_turns();
}

START_TEST(test_idle)
{
	struct proxy_conn	*c = px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);

	idle(c, LIMIT_NET_IDLE - 5000);
	px_ck_did("");
	if (_i == 0) {
		idle(c, LIMIT_NET_IDLE);
	} else {
		px_put(px.client, "GET ");
		idle(c, LIMIT_NET_HEAD_TIME - 5000);
		px_ck_did("");
		idle(c, LIMIT_NET_HEAD_TIME);
	}
	px_ck_did("end");
	ck_assert(px_is_over(px.client));
}
END_TEST

/* An answer may take longer than a head. */
START_TEST(test_idle_exchange)
{
	struct proxy_conn	*c = px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);

	px_ask_a();
	idle(c, LIMIT_NET_HEAD_TIME);
	px_ck_did("");
	px_ck_got(px.server, PX_SENT);
	px_put(px.server, PX_OK);
	px_ck_got(px.client, PX_OK);
	ck_assert_uint_lt(clock_ms() - c->last_ms, LIMIT_NET_HEAD_TIME / 2);
}
END_TEST

/* No request is read while the worker has too much to read. */
START_TEST(test_full)
{
	px.is_full = true;
	px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);
	px_put(px.client, PX_GET);
	px_ck_did("");
	px.is_full = false;
	proxy_conn_go_on(&px.net);
	px_turns();
	px_ck_did("allow by rules (allow): http GET a.test:80; find a.test");
}
END_TEST

/* Who does not read the answer is not waited for. */
START_TEST(test_linger)
{
	struct proxy_conn	*c = px_start(IPC__PROXY_KIND__PROXY_HTTP, 0);

	px_put(px.client, "bad\r\n\r\n");
	ck_assert_int_eq(c->state, CONN_CLOSING);
	px_put(px.client, "more");
	px_ck_did("");
	idle(c, 0);
	px_ck_did("end");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxy_conn");
	TCase	*t = tcase_create("proxy_conn");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, px_setup, px_teardown);
	tcase_add_test(t, test_exchange);
	tcase_add_test(t, test_pipelined);
	tcase_add_test(t, test_other_server);
	tcase_add_test(t, test_closing_server);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_cut_answer);
	tcase_add_test(t, test_to_end);
	tcase_add_loop_test(t, test_bad_answer, 0, 3);
	tcase_add_test(t, test_body);
	tcase_add_test(t, test_last_answer);
	tcase_add_test(t, test_early_answer);
	tcase_add_test(t, test_bad_body);
	tcase_add_loop_test(t, test_tunnel, 0, 2);
	tcase_add_test(t, test_tunnel_end);
	tcase_add_loop_test(t, test_bridge, 0, 2);
	tcase_add_loop_test(t, test_idle, 0, 2);
	tcase_add_test(t, test_idle_exchange);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_linger);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
