/* A local end to another exec server: a WebSocket client (forward mode). */
#include "master/uplink/local_end.h"
#include "master/uplink/local_end_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/dial/wsock.h"
#include "common/limit.h"

struct local_end_server {
	struct local_end	 l;
	struct wsock	*sock;		/* NULL: over */
	struct buf	 message;	/* the server's, being taken */
	struct wsock_text text;		/* the first message for it */
};

static void
local_end_server_on_open(void *arg)
{
	struct local_end_server	*s = arg;

	assert(s->sock != NULL && !s->l.is_over);
	wsock_want(s->sock);
}

/* Read the next message after this one is taken. */
static void
local_end_server_on_message(void *arg, uint8_t *data, size_t len,
    bool is_binary)
{
	struct local_end_server	*s = arg;

	(void)is_binary;
	assert(s->sock != NULL && !s->l.is_over);
	if (s->l.output != NULL || buf_put(&s->message, data, len) == -1) {
		wsock_fail(s->sock);
		return;
	}
	s->l.output = buf_data(&s->message);
	s->l.output_len = len;
	wsock_read(s->sock, false);
	s->l.events->on_output(s->l.arg);
}

static void
local_end_server_on_writable(void *arg)
{
	struct local_end_server	*s = arg;
	uint8_t			*data;
	size_t			 len;

	assert(s->sock != NULL && !s->l.is_over);
	while (!wsock_is_full(s->sock)) {
		if (!s->l.events->first(s->l.arg, &data, &len))
			return;
		if (wsock_send_text(s->sock, &s->text, data, len))
			s->l.events->drop(s->l.arg);
	}
	wsock_want(s->sock);
}

static void
local_end_server_on_pong(void *arg)
{
	(void)arg;
}

static void
local_end_server_on_end(void *arg, unsigned status, const char *why)
{
	struct local_end_server	*s = arg;

	(void)status;
	(void)why;
	assert(!s->l.is_over);
	s->l.is_over = true;
	wsock_free(&s->sock);
	s->l.events->on_output(s->l.arg);
}

static const struct wsock_events wsock_events = {
	local_end_server_on_open, local_end_server_on_message,
	local_end_server_on_writable, local_end_server_on_pong, NULL,
	local_end_server_on_end
};

static void
local_end_server_push(struct local_end *l)
{
	wsock_want(((struct local_end_server *)l)->sock);
}

static void
local_end_server_take(struct local_end *l)
{
	struct local_end_server	*s = (struct local_end_server *)l;

	assert(l->output == NULL);
	buf_drain(&s->message, s->message.len);
	buf_trim(&s->message, WSOCK_FRAME);
	if (!l->is_over)
		wsock_read(s->sock, true);
}

/* libwebsockets has answered the server's ping. */
static void
local_end_server_pong(struct local_end *l)
{
	(void)l;
}

static void
local_end_server_fini(struct local_end *l)
{
	struct local_end_server	*s = (struct local_end_server *)l;

	wsock_free(&s->sock);
	buf_fini(&s->message);
}

static const struct local_end_ops ops = { local_end_server_push,
    local_end_server_take, local_end_server_pong, local_end_server_fini };

struct local_end *
local_end_to_server(struct dialer *d, const struct target *t,
    const struct local_end_events *events, void *arg)
{
	struct local_end_server	*s;
	struct local_end		*l;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	l = &s->l;
	l->ops = &ops;
	l->events = events;
	l->arg = arg;
	buf_init(&s->message, (size_t)LIMIT_MESSAGE);
	if ((s->sock = wsock_new(d, t, LIMIT_RENDEZVOUS,
	    (size_t)LIMIT_MESSAGE, &wsock_events, s)) == NULL)
		local_end_free(&l);
	return l;
}
