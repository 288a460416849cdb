/*
 * Plain HTTP on a connection: one request after the other is judged, passed on
 * and answered.  A connection to a server is used for further requests to the
 * same host; each of them is judged anew.
 */
#include "worker/proxy/helper/proxy_conn_priv.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/json/b64.h"
#include "common/limit.h"

/* --- requests --- */

void
conn_http_input(struct proxy_conn *c)
{
	const char	*text = (const char *)buf_data(&c->in);
	size_t		 len;

	assert(c->state == CONN_HEAD);
	if (c->in.len == 0 || (len = proxyhead_end(text, c->in.len)) == 0)
		return;
	c->protocol = IPC__PROXY_PROTOCOL__PLAIN_HTTP;
	proxyhead_parse(text, len, &c->head);
	c->head_len = len;
	c->host = c->head.host;
	c->port = c->head.port;
	if (c->head.status != 0) {
		conn_http_error(c, c->head.status, c->head.status == 400 ?
		    "" : "the request cannot be passed on");
		return;
	}
	if (c->head.has_unix_socket) {
		conn_tell_unix(c);
		conn_http_error(c, 501, "Unix sockets are not supported");
		return;
	}
	if (c->head.is_connect) {
		c->protocol = IPC__PROXY_PROTOCOL__HTTPS_CONNECT;
		/* The rest belongs to the tunnel. */
		buf_drain(&c->in, len);
	}
	conn_judge(c);
}

/* Put the head into a buffer, for the server or another proxy. */
static int
write_head(struct proxy_conn *c, struct buf *out)
{
	char		 auth[B64_ENCODED_LEN(sizeof(c->via->secret)) + 1];
	const char	*secret = NULL;
	int		 r;

	if (c->via != NULL && c->via->secret[0] != '\0') {
		auth[b64_encode(auth, c->via->secret,
		    strlen(c->via->secret))] = '\0';
		secret = auth;
	}
	r = proxyhead_forward(&c->head, c->via != NULL, secret,
	    c->head.is_last, out);
	explicit_bzero(auth, sizeof(auth));
	return r;
}

/* Send what has come of the body. */
static void
http_send_up(struct proxy_conn *c, const char *data, size_t len)
{
	ssize_t	 n;

	if ((n = proxybody_take(&c->up, data, len)) == -1) {
		/* The server has a part of it: it must not get more. */
		if (c->is_answered || c->is_reply_begun)
			conn_kill(c);
		else
			conn_http_error(c, 400, "");
		return;
	}
	conn_send(c, &c->server, data, (size_t)n);
	/* The next request waits for its turn. */
	if (c->state != CONN_DEAD && (size_t)n < len &&
	    buf_put(&c->in, data + n, len - (size_t)n) == -1)
		conn_kill(c);
}

void
conn_http_begin(struct proxy_conn *c)
{
	struct buf	 head, rest;

	conn_set_state(c, CONN_EXCHANGE);
	proxybody_start(&c->up, c->head.body, c->head.length);
	c->is_answered = c->is_reply_begun = c->server_closes = false;
	c->closes = c->head.is_last;
	buf_init(&head, 4 * (size_t)LIMIT_NET_HEAD);
	if (write_head(c, &head) == -1) {
		buf_fini(&head);
		conn_kill(c);
		return;
	}
	conn_send(c, &c->server, buf_data(&head), head.len);
	buf_fini(&head);
	/* The head stays in front of it, in case it is sent again. */
	if (c->state == CONN_DEAD || c->in.len == c->head_len ||
	    c->up.is_over)
		return;
	buf_init(&rest, c->in.max);
	if (buf_put(&rest, buf_data(&c->in) + c->head_len,
	    c->in.len - c->head_len) == -1) {
		buf_fini(&rest);
		conn_kill(c);
		return;
	}
	/* Spans of the head are not used any more. */
	c->is_reused = false;
	buf_fini(&c->in);
	c->head_len = 0;
	http_send_up(c, (char *)buf_data(&rest), rest.len);
	buf_fini(&rest);
}

void
conn_http_upload(struct proxy_conn *c)
{
	ssize_t	 n;

	assert(c->state == CONN_EXCHANGE && !c->up.is_over);
	if ((n = conn_read(c, &c->client)) == -1 || n == -2)
		return;
	if (n == 0) {
		conn_kill(c);		/* a part of a request */
		return;
	}
	/* A body has begun: it cannot be sent again. */
	c->is_reused = false;
	if (c->head_len > 0) {
		buf_fini(&c->in);
		c->head_len = 0;
	}
	http_send_up(c, c->net->shared->scratch, (size_t)n);
}

/* --- answers --- */

/* All of the answer has been passed on. */
static void
exchange_done(struct proxy_conn *c, bool has_rest)
{
	assert(c->state == CONN_EXCHANGE && c->in.len >= c->head_len);
	buf_fini(&c->reply);
	if (c->head_len > 0)
		buf_drain(&c->in, c->head_len);
	c->head_len = 0;
	if (c->closes || !c->up.is_over) {
		conn_finish(c);
		return;
	}
	/* What follows an answer would be taken for the next one. */
	if (c->server_closes || has_rest || c->server.is_eof)
		proxy_side_close(&c->server);
	conn_set_state(c, CONN_HEAD);
	buf_trim(&c->in, 0);
	conn_http_input(c);
}

static void
http_send_down(struct proxy_conn *c, const char *data, size_t len)
{
	ssize_t	 n;

	if ((n = proxybody_take(&c->down, data, len)) == -1) {
		conn_kill(c);
		return;
	}
	conn_send(c, &c->client, data, (size_t)n);
	if (c->state != CONN_DEAD && c->down.is_over)
		exchange_done(c, (size_t)n < len);
}

/* Pass on the head of an answer.  Whether its body follows. */
static bool
pass_reply(struct proxy_conn *c, const struct proxyreply *r)
{
	struct buf	 head;
	int		 rv;

	c->is_answered = true;
	if (r->status >= 200) {
		c->server_closes = r->is_last;
		if (r->body == PROXYBODY_TO_END)
			c->closes = true;
		proxybody_start(&c->down, r->body, r->length);
		c->is_reply_begun = true;
	}
	buf_init(&head, 4 * (size_t)LIMIT_NET_HEAD);
	rv = proxyhead_pass(r, c->is_reply_begun && c->closes, &head);
	if (rv == 0)
		rv = buf_put(&c->client.out, buf_data(&head), head.len);
	buf_fini(&head);
	if (rv == -1)
		conn_kill(c);
	return rv == 0 && c->is_reply_begun;
}

/* Read heads of answers, interim ones first. */
static void
read_reply(struct proxy_conn *c)
{
	struct proxyreply	 r;
	struct buf		 rest;
	const char		*text;
	size_t			 len;

	for (;;) {
		text = (const char *)buf_data(&c->reply);
		if (c->reply.len == 0 ||
		    (len = proxyhead_end(text, c->reply.len)) == 0)
			break;
		proxyhead_reply(text, len, c->head.method, &r);
		/* 101 answers an Upgrade, which was not passed on. */
		if (!r.is_valid || r.status == 101) {
			if (c->is_answered)
				conn_kill(c);
			else
				conn_http_error(c, 502, "upstream failure");
			return;
		}
		if (pass_reply(c, &r)) {
			buf_drain(&c->reply, len);
			buf_init(&rest, 0);
			buf_move(&rest, &c->reply);
			http_send_down(c, (char *)buf_data(&rest), rest.len);
			buf_fini(&rest);
			return;
		}
		if (c->state == CONN_DEAD)
			return;
		buf_drain(&c->reply, len);
	}
	conn_send(c, &c->client, NULL, 0);	/* interim ones */
}

/* The server has closed. */
static void
on_server_eof(struct proxy_conn *c)
{
	if (c->is_reply_begun && c->down.kind == PROXYBODY_TO_END) {
		exchange_done(c, false);
	} else if (c->is_reused && !c->is_answered && c->head_len > 0 &&
	    c->up.is_over && c->reply.len == 0) {
		/* It closed while it was idle: nothing was done yet. */
		conn_reach_again(c);
	} else if (c->is_answered) {
		conn_kill(c);
	} else {
		conn_http_error(c, 502, "upstream failure");
	}
}

void
conn_http_download(struct proxy_conn *c)
{
	char	*scratch = c->net->shared->scratch;
	ssize_t	 n;

	assert(c->state == CONN_EXCHANGE && c->server.fd != -1);
	n = recv(c->server.fd, scratch, LIMIT_NET_BUFFER, MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	c->last_ms = clock_ms();
	if (n <= 0) {
		c->server.is_eof = true;
		on_server_eof(c);
	} else if (c->is_reply_begun) {
		http_send_down(c, scratch, (size_t)n);
	} else if (buf_put(&c->reply, scratch, (size_t)n) == -1) {
		conn_kill(c);
	} else {
		read_reply(c);
	}
}
