#include "worker/proxy/helper/proxy_conn_priv.h"

#include <sys/socket.h>

#include <arpa/inet.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/proxy/helper/proxy_splice.h"

#define LINGER_MS	1000	/* for the client to read its answer */
#define IN_MAX		(LIMIT_NET_BUFFER + 2 * (size_t)LIMIT_NET_HEAD)

static const unsigned	 next_states[CONN_STATES] = {
#define TO(state)	(1u << CONN_##state)
	[CONN_GREETING] = TO(HEAD) | TO(CLOSING) | TO(DEAD),
	[CONN_HEAD] = TO(JUDGING) | TO(CONNECTING) | TO(CLOSING) | TO(DEAD),
	[CONN_JUDGING] = TO(CONNECTING) | TO(EXCHANGE) | TO(CLOSING) |
	    TO(DEAD),
	[CONN_CONNECTING] = TO(UPSTREAM) | TO(EXCHANGE) | TO(TUNNEL) |
	    TO(CLOSING) | TO(DEAD),
	[CONN_UPSTREAM] = TO(TUNNEL) | TO(CLOSING) | TO(DEAD),
	[CONN_EXCHANGE] = TO(HEAD) | TO(CONNECTING) | TO(CLOSING) | TO(DEAD),
	[CONN_TUNNEL] = TO(DEAD),
	[CONN_CLOSING] = TO(DEAD),
	[CONN_DEAD] = 0
#undef TO
};

void
conn_set_state(struct proxy_conn *c, enum proxy_state to)
{
	assert((next_states[c->state] & (1u << to)) != 0);
	c->state = to;
}

/* --- the end --- */

static void
conn_free(struct proxy_conn *c)
{
	struct proxy_net	*net = c->net;

	conn_judge_stop(c);
	proxy_side_close(&c->client);
	proxy_side_close(&c->server);
	timer_stop(&c->timer);
	buf_fini(&c->in);
	buf_fini(&c->reply);
	free(c->via);
	assert(net->n > 0);
	TAILQ_REMOVE(&net->conns, c, entry);
	net->n--;
	free(c);
}

void
conn_kill(struct proxy_conn *c)
{
	if (c->state == CONN_DEAD)
		return;
	conn_judge_stop(c);
	proxy_side_close(&c->client);
	proxy_side_close(&c->server);
	conn_set_state(c, CONN_DEAD);
	timer_set(&c->timer, 0);
}

void
conn_finish(struct proxy_conn *c)
{
	if (c->state == CONN_DEAD)
		return;
	assert(c->query == NULL && c->connect == NULL);
	proxy_side_close(&c->server);
	conn_set_state(c, CONN_CLOSING);
	if (c->client.out.len == 0)
		proxy_side_shut(&c->client);
	timer_set(&c->timer, LINGER_MS);
	conn_update(c);
}

void
proxy_conn_end_all(struct proxy_net *net)
{
	struct proxy_conn	*c;

	while ((c = TAILQ_FIRST(&net->conns)) != NULL)
		conn_free(c);
}

static void
proxy_conn_on_timer(void *arg)
{
	struct proxy_conn		*c = arg;
	const struct proxy_events	*events = c->net->events;
	void				*events_arg = c->net->arg;
	uint64_t			 idle;

	if (c->state == CONN_DEAD) {
		conn_free(c);
		events->on_end(events_arg);
		return;
	}
	idle = clock_ms() - c->last_ms;
	if (c->state == CONN_CLOSING || idle >= LIMIT_NET_IDLE ||
	    ((c->state == CONN_HEAD || c->state == CONN_GREETING) &&
	    c->in.len > 0 && idle >= LIMIT_NET_HEAD_TIME))
		conn_kill(c);
	else
		timer_set(&c->timer, LIMIT_NET_HEAD_TIME);
}

/* --- reading and sending --- */

/* Whether more of the client is wanted. */
static bool
wants_client(struct proxy_conn *c)
{
	if (c->client.is_eof)
		return false;
	switch (c->state) {
	case CONN_GREETING:
	case CONN_HEAD:
		return c->client.out.len == 0 &&
		    !c->net->events->is_full(c->net->arg);
	case CONN_EXCHANGE:
		return !c->up.is_over && c->server.out.len == 0;
	case CONN_TUNNEL:
		return c->server.out.len == 0;
	case CONN_CLOSING:
		return true;
	default:
		return false;
	}
}

static bool
wants_server(const struct proxy_conn *c)
{
	switch (c->state) {
	case CONN_UPSTREAM:
	case CONN_EXCHANGE:
	case CONN_TUNNEL:
		return !c->server.is_eof && c->client.out.len == 0;
	default:
		return c->server.fd != -1;	/* idle: it may close */
	}
}

void
conn_update(struct proxy_conn *c)
{
	if (c->state == CONN_DEAD)
		return;
	if (proxy_side_want(&c->client, wants_client(c)) == -1 ||
	    proxy_side_want(&c->server, wants_server(c)) == -1) {
		log_warn("no memory for a connection");
		conn_kill(c);
	}
}

ssize_t
conn_read(struct proxy_conn *c, struct proxy_side *s)
{
	ssize_t	 n;

	n = recv(s->fd, c->net->shared->scratch, LIMIT_NET_BUFFER,
	    MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n == -1) {
		conn_kill(c);
		return -2;
	}
	if (n == 0)
		s->is_eof = true;
	c->last_ms = clock_ms();
	return n;
}

void
conn_send(struct proxy_conn *c, struct proxy_side *s, const void *data,
    size_t len)
{
	if (c->state != CONN_DEAD && proxy_side_send(s, data, len) == -1)
		conn_kill(c);
}

/* --- tunnels --- */

/* The end of one direction; of both, of the connection. */
static void
conn_half_close(struct proxy_conn *c)
{
	assert(c->state == CONN_TUNNEL);
	if (c->client.is_eof && c->server.out.len == 0)
		proxy_side_shut(&c->server);
	if (c->server.is_eof && c->client.out.len == 0)
		proxy_side_shut(&c->client);
	if (c->client.is_shut && c->server.is_shut)
		conn_kill(c);
}

/* As conn_read(), and send it. */
static ssize_t
conn_splice(struct proxy_conn *c, struct proxy_side *from,
    struct proxy_side *to)
{
	ssize_t	 n;

	n = proxy_splice(from, to, c->net->shared->pipe,
	    c->net->shared->scratch);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n == -1) {
		conn_kill(c);
		return -2;
	}
	from->is_eof = n == 0;
	c->last_ms = clock_ms();
	return n;
}

static void
conn_pump(struct proxy_conn *c, struct proxy_side *from,
    struct proxy_side *to)
{
	ssize_t	 n;

	assert(c->state == CONN_TUNNEL && to->out.len == 0);
	if (from->is_bulk)
		n = conn_splice(c, from, to);
	else if ((n = conn_read(c, from)) > 0)
		conn_send(c, to, c->net->shared->scratch, (size_t)n);
	if (n == 0)
		conn_half_close(c);
	from->is_bulk = n > 0 && proxy_splice_pays((size_t)n);
}

void
conn_tunnel(struct proxy_conn *c)
{
	assert(c->server.fd != -1);
	conn_set_state(c, CONN_TUNNEL);
	conn_send(c, &c->server, buf_data(&c->in), c->in.len);
	buf_fini(&c->in);
	if (c->state != CONN_DEAD && c->client.is_eof)
		conn_half_close(c);
	conn_update(c);
}

/* --- events --- */

static void
conn_on_client(void *arg)
{
	struct proxy_conn	*c = arg;
	ssize_t			 n;

	if (!wants_client(c)) {
		proxy_side_stop(&c->client);
		return;
	}
	if (c->state == CONN_TUNNEL) {
		conn_pump(c, &c->client, &c->server);
	} else if (c->state == CONN_EXCHANGE) {
		conn_http_upload(c);
	} else if ((n = conn_read(c, &c->client)) == 0) {
		/* Nobody is there to be answered. */
		conn_kill(c);
	} else if (n > 0 && c->state != CONN_CLOSING) {
		if (buf_put(&c->in, c->net->shared->scratch, (size_t)n) ==
		    -1)
			conn_kill(c);
		else if (c->kind == IPC__PROXY_KIND__PROXY_SOCKS)
			conn_socks_input(c);
		else
			conn_http_input(c);
	}
	conn_update(c);
}

static void
conn_on_server(void *arg)
{
	struct proxy_conn	*c = arg;

	if (!wants_server(c)) {
		proxy_side_stop(&c->server);
		return;
	}
	if (c->state == CONN_TUNNEL)
		conn_pump(c, &c->server, &c->client);
	else if (c->state == CONN_EXCHANGE)
		conn_http_download(c);
	else if (c->state == CONN_UPSTREAM)
		conn_on_upstream(c);
	else
		/* Closed, or an answer to nothing. */
		proxy_side_close(&c->server);
	conn_update(c);
}

static void
conn_on_client_writable(void *arg)
{
	struct proxy_conn	*c = arg;

	conn_send(c, &c->client, NULL, 0);
	c->last_ms = clock_ms();
	if (c->state == CONN_TUNNEL)
		conn_half_close(c);
	else if (c->state == CONN_CLOSING && c->client.out.len == 0)
		proxy_side_shut(&c->client);
	conn_update(c);
}

static void
conn_on_server_writable(void *arg)
{
	struct proxy_conn	*c = arg;

	conn_send(c, &c->server, NULL, 0);
	c->last_ms = clock_ms();
	if (c->state == CONN_TUNNEL)
		conn_half_close(c);
	conn_update(c);
}

void
conn_open_server(struct proxy_conn *c, int fd)
{
	proxy_side_close(&c->server);
	proxy_side_open(&c->server, c->net->shared->base, fd, conn_on_server,
	    conn_on_server_writable, c);
}

int
proxy_conn_start(struct proxy_net *net, int fd,
    const struct sockaddr_in *from, Ipc__ProxyKind kind, uint16_t port)
{
	struct proxy_conn	*c;
	char			 text[INET_ADDRSTRLEN] = "?";

	assert(fd != -1 && net->n < LIMIT_NET_CONNECTIONS);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return -1;
	c->net = net;
	c->kind = kind;
	c->state = kind == IPC__PROXY_KIND__PROXY_SOCKS ? CONN_GREETING :
	    CONN_HEAD;
	(void)inet_ntop(AF_INET, &from->sin_addr, text, sizeof(text));
	snprintf(c->peer, sizeof(c->peer), "%s:%u", text,
	    ntohs(from->sin_port));
	proxy_side_clear(&c->client);
	proxy_side_clear(&c->server);
	buf_init(&c->in, IN_MAX);
	buf_init(&c->reply, IN_MAX);
	timer_init(&c->timer, net->shared->base, proxy_conn_on_timer, c);
	proxy_side_open(&c->client, net->shared->base, fd, conn_on_client,
	    conn_on_client_writable, c);
	TAILQ_INSERT_TAIL(&net->conns, c, entry);
	net->n++;
	c->last_ms = clock_ms();
	timer_set(&c->timer, LIMIT_NET_HEAD_TIME);
	if (kind == IPC__PROXY_KIND__PROXY_BRIDGE)
		conn_reach_loopback(c, port);
	conn_update(c);
	return 0;
}

void
proxy_conn_answer(struct proxy_net *net, uint64_t question,
    Ipc__ProxyVerdict verdict, const char *reason)
{
	struct proxy_conn	*c;

	TAILQ_FOREACH(c, &net->conns, entry)
		if (c->question == question && c->state == CONN_JUDGING)
			break;
	if (c == NULL)
		return;
	c->question = 0;
	conn_answered(c, verdict, reason);
	conn_update(c);
}

void
proxy_conn_go_on(struct proxy_net *net)
{
	struct proxy_conn	*c;

	TAILQ_FOREACH(c, &net->conns, entry)
		conn_update(c);
}
