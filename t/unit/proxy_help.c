#include "t/unit/proxy_help.h"

#include <sys/socket.h>

#include <arpa/inet.h>

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"

#define TURNS	100000

struct px	 px;

void
px_tell(const char *what)
{
	ck_assert_uint_lt(strlen(px.did) + strlen(what) + 1, sizeof(px.did));
	strcat(strcat(px.did, px.did[0] != '\0' ? "; " : ""), what);
}

void
px_ck_did(const char *what)
{
	ck_assert_str_eq(px.did, what);
	px.did[0] = '\0';
}

/* --- the process --- */

static const char *const protocols[] = { "http", "connect", "socks" };

static void
on_ask(void *arg, const Ipc__ProxyAsk *a)
{
	char	 text[300];

	ck_assert_ptr_eq(arg, &px.net);
	snprintf(text, sizeof(text), "ask %u %s %s:%u", (unsigned)a->id,
	    protocols[a->protocol], a->host, a->port);
	px_tell(text);
}

static void
on_decision(void *arg, const Ipc__ProxyDecision *d)
{
	static const char *const verdicts[] = { "allow", "deny", "asked" };
	static const char *const sources[] = { "rules", "decider", "mode",
	    "state" };
	char			 text[400];

	ck_assert_ptr_eq(arg, &px.net);
	ck_assert_str_eq(d->client, "127.0.0.9:4711");
	snprintf(text, sizeof(text), "%s by %s (%s): %s %s%s%s:%u%s%s",
	    verdicts[d->verdict], sources[d->source], d->reason,
	    protocols[d->protocol], d->method,
	    d->method[0] != '\0' ? " " : "", d->host, d->port,
	    d->overrides ? " overrides" : "",
	    d->is_general ? " general" : "");
	px_tell(text);
}

static void
on_end(void *arg)
{
	ck_assert_ptr_eq(arg, &px.net);
	px_tell("end");
}

static bool
conn_is_full(void *arg)
{
	ck_assert_ptr_eq(arg, &px.net);
	return px.is_full;
}

static const struct proxy_events proxy_rig_events = {
	on_ask, on_decision, on_end, conn_is_full
};

void
px_setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(&px, 0, sizeof(px));
	px.client = px.server = -1;
	ck_assert_ptr_nonnull(px.shared.base = ev_base_new());
	ck_assert_ptr_nonnull(px.shared.scratch = malloc(LIMIT_NET_BUFFER));
	ck_assert_int_eq(pipe2(px.shared.pipe, O_CLOEXEC | O_NONBLOCK), 0);
	px.net.shared = &px.shared;
	px.net.events = &proxy_rig_events;
	px.net.arg = &px.net;
	px.net.rules.allows_local = true;
	TAILQ_INIT(&px.net.conns);
	ck_assert_int_eq(netrules_add(&px.net.rules, NETRULES_ALLOW, "a.test"),
	    0);
	ck_assert_int_eq(netrules_add(&px.net.rules, NETRULES_ALLOW, "b.test"),
	    0);
	ck_assert_int_eq(netrules_add(&px.net.rules, NETRULES_DENY, "no.test"),
	    0);
}

void
px_teardown(void)
{
	proxy_conn_end_all(&px.net);
	ck_assert_uint_eq(px.net.n, 0);
	netrules_fini(&px.net.rules);
	event_base_free(px.shared.base);
	free(px.shared.scratch);
	close(px.shared.pipe[0]);
	close(px.shared.pipe[1]);
	if (px.client != -1)
		close(px.client);
	if (px.server != -1)
		close(px.server);
}

void
px_turns(void)
{
	int	 i;

	for (i = 0; i < 20; i++)
		ck_assert_int_ne(event_base_loop(px.shared.base,
		    EVLOOP_NONBLOCK), -1);
}

/* Return the proxy's end of a pair, with as little room as there can be. */
static int
small_pair(int *ours)
{
	int	 pair[2], one = 1;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &one,
	    sizeof(one)), 0);
	*ours = pair[1];
	return pair[0];
}

struct proxy_conn *
px_start(Ipc__ProxyKind kind, uint16_t port)
{
	struct sockaddr_in	 from = { .sin_family = AF_INET,
				    .sin_port = htons(4711) };

	from.sin_addr.s_addr = htonl(0x7f000009);
	ck_assert_int_eq(proxy_conn_start(&px.net, small_pair(&px.client),
	    &from, kind, port), 0);
	return TAILQ_FIRST(&px.net.conns);
}

/* The way has been made, or not. */
void
px_connected(int error)
{
	proxy_connect_fn	*fn = px.way.fn;

	ck_assert_ptr_nonnull(fn);
	px.way.fn = NULL;
	if (px.server != -1)
		close(px.server);
	px.server = -1;
	fn(px.way.arg, error == 0 ? small_pair(&px.server) : -1, error);
	px_turns();
}

void
px_found(const struct netaddr *list, size_t n)
{
	proxy_names_fn	*fn = px.query.fn;

	ck_assert_ptr_nonnull(fn);
	px.query.fn = NULL;
	fn(px.query.arg, list, n);
	px_turns();
}

/* --- our ends --- */

void
px_put_bytes(int fd, const void *data, size_t len)
{
	ck_assert_int_eq(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
	px_turns();
}

void
px_put(int fd, const char *text)
{
	px_put_bytes(fd, text, strlen(text));
}

void
px_ck_got_bytes(int fd, const void *want, size_t len)
{
	char	 got[4000];
	size_t	 have = 0;
	ssize_t	 n;

	do {
		px_turns();
		n = recv(fd, got + have, sizeof(got) - 1 - have, 0);
		have += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	got[have] = '\0';
	if (have != len || memcmp(got, want, len) != 0)
		ck_abort_msg("got \"%s\" (%zu)", got, have);
}

void
px_ck_got(int fd, const char *want)
{
	px_ck_got_bytes(fd, want, strlen(want));
}

/* Whether the peer sends no more (it has all been read). */
bool
px_is_over(int fd)
{
	char	 c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

static char
byte_of(size_t at)
{
	return (char)(at * 7 + at / 251);
}

/*
 * From one of our ends to the other, which reads a little at a time: every byte
 * comes once, at its place.
 */
void
px_carry(int from, int to)
{
	char	*data = malloc(PX_BIG), piece[1500];
	size_t	 sent = 0, got = 0, i;
	ssize_t	 n;
	int	 k;

	ck_assert_ptr_nonnull(data);
	for (i = 0; i < PX_BIG; i++)
		data[i] = byte_of(i);
	for (k = 0; k < TURNS && got < PX_BIG; k++) {
		if (sent < PX_BIG && (n = send(from, data + sent, PX_BIG - sent,
		    MSG_NOSIGNAL)) > 0)
			sent += (size_t)n;
		event_base_loop(px.shared.base, EVLOOP_NONBLOCK);
		if ((n = recv(to, piece, sizeof(piece), 0)) <= 0)
			continue;
		ck_assert_uint_le(got + (size_t)n, PX_BIG);
		if (memcmp(piece, data + got, (size_t)n) != 0)
			ck_abort_msg("wrong after %zu bytes", got);
		got += (size_t)n;
	}
	ck_assert_uint_eq(got, PX_BIG);
	free(data);
}

void
px_ask_a(void)
{
	px_put(px.client, PX_GET);
	px_ck_did("allow by rules (allow): http GET a.test:80; find a.test");
	px_found((const struct netaddr[]){ { AF_INET, { 192, 0, 2, 1 } },
	    { AF_INET, { 192, 0, 2, 2 } } }, 2);
	px_ck_did("connect 192.0.2.1:80 192.0.2.2:80");
	px_connected(0);
}
