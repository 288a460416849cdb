/* A leg to another exec server: a WebSocket client (forward mode). */
#include "master/uplink/leg_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "master/uplink/wsock.h"

#define FRAME_MAX	(64 * 1024)	/* bytes of a frame that we send */

struct leg_server {
	struct leg	 l;
	struct wsock	*sock;
	struct buf	 message;	/* the server's, being taken */
	size_t		 sent;		/* of the first message */
	uint8_t		 room[LWS_PRE + FRAME_MAX];
};

static void
on_open(void *arg)
{
	struct leg_server	*s = arg;

	wsock_want(s->sock);
}

/* It is taken before the next one is read. */
static void
on_message(void *arg, uint8_t *data, size_t len, bool is_binary)
{
	struct leg_server	*s = arg;

	(void)is_binary;
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
on_writable(void *arg)
{
	struct leg_server	*s = arg;
	uint8_t			*data;
	size_t			 len, n;
	int			 flags;

	while (!wsock_is_full(s->sock)) {
		if (!s->l.events->first(s->l.arg, &data, &len))
			return;
		n = len - s->sent < FRAME_MAX ? len - s->sent : FRAME_MAX;
		flags = (s->sent > 0 ? WSOCK_CONTINUED : 0) |
		    (s->sent + n < len ? WSOCK_MORE : 0);
		memcpy(s->room + LWS_PRE, data + s->sent, n);
		wsock_send(s->sock, s->room + LWS_PRE, n, flags);
		s->sent += n;
		if (s->sent == len) {
			s->sent = 0;
			s->l.events->drop(s->l.arg);
		}
	}
	wsock_want(s->sock);
}

static void
on_pong(void *arg)
{
	(void)arg;
}

static void
on_end(void *arg, unsigned status, const char *why)
{
	struct leg_server	*s = arg;

	(void)status;
	(void)why;
	s->l.is_over = true;
	s->l.events->on_output(s->l.arg);
}

static const struct wsock_events wsock_events = {
	on_open, on_message, on_writable, on_pong, on_end
};

static void
push(struct leg *l)
{
	wsock_want(((struct leg_server *)l)->sock);
}

static void
take(struct leg *l)
{
	struct leg_server	*s = (struct leg_server *)l;

	buf_drain(&s->message, s->message.len);
	buf_trim(&s->message, FRAME_MAX);
	wsock_read(s->sock, true);
}

/* libwebsockets has answered the server's ping. */
static void
pong(struct leg *l)
{
	(void)l;
}

static void
fini(struct leg *l)
{
	struct leg_server	*s = (struct leg_server *)l;

	wsock_free(&s->sock);
	buf_fini(&s->message);
}

static const struct leg_ops ops = { push, take, pong, fini };

struct leg *
leg_to_server(struct dialer *d, const struct target *t,
    const struct leg_events *events, void *arg)
{
	struct leg_server	*s;
	struct leg		*l;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	l = &s->l;
	l->ops = &ops;
	l->events = events;
	l->arg = arg;
	buf_init(&s->message, (size_t)LIMIT_MESSAGE);
	if ((s->sock = wsock_new(d, t, LIMIT_RENDEZVOUS,
	    (size_t)LIMIT_MESSAGE, &wsock_events, s)) == NULL)
		leg_free(&l);
	return l;
}
