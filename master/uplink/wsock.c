#include "master/uplink/wsock.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/ws.h"

struct wsock {
	struct dial			*dial;
	const struct wsock_events	*events;
	void				*arg;
	struct lws			*wsi;		/* when open */
	struct buf			 message;	/* so far */
	bool				 has_failed;
};

static int
on_piece(struct wsock *s, struct lws *wsi, const void *data, size_t len)
{
	if (buf_put(&s->message, data, len) == -1) {
		log_warnx("WebSocket: %s", errno == EFBIG ?
		    "a message that is too long" : "out of memory");
		return -1;
	}
	if (!lws_is_final_fragment(wsi) ||
	    lws_remaining_packet_payload(wsi) > 0)
		return 0;
	s->events->on_message(s->arg, buf_data(&s->message), s->message.len,
	    lws_frame_is_binary(wsi) != 0);
	buf_drain(&s->message, s->message.len);
	buf_trim(&s->message, 256 * 1024);
	return s->has_failed ? -1 : 0;
}

static int
on_event(void *arg, struct lws *wsi, enum lws_callback_reasons reason,
    void *in, size_t len)
{
	struct wsock	*s = arg;

	switch (reason) {
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		s->wsi = wsi;
		dial_done(s->dial);
		s->events->on_open(s->arg);
		break;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return on_piece(s, wsi, in, len);
	case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
		s->events->on_pong(s->arg);
		break;
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		s->events->on_writable(s->arg);
		break;
	default:
		break;
	}
	return s->has_failed ? -1 : 0;
}

static void
on_end(void *arg, unsigned status, const char *why)
{
	struct wsock	*s = arg;

	s->wsi = NULL;
	s->events->on_end(s->arg, status, why);
}

static const struct dial_events dial_events = { on_event, on_end };

struct wsock *
wsock_new(struct dialer *d, const struct target *t, uint64_t ms, size_t max,
    const struct wsock_events *events, void *arg)
{
	struct wsock	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->events = events;
	s->arg = arg;
	buf_init(&s->message, max);
	if ((s->dial = dial_new(d, t, NULL, ms, &dial_events, s)) == NULL)
		wsock_free(&s);
	return s;
}

void
wsock_free(struct wsock **sp)
{
	struct wsock	*s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	dial_free(&s->dial);
	buf_fini(&s->message);
	free(s);
}

void
wsock_want(struct wsock *s)
{
	if (s->wsi != NULL)
		(void)lws_callback_on_writable(s->wsi);
}

bool
wsock_is_full(struct wsock *s)
{
	return s->wsi == NULL || s->has_failed ||
	    lws_send_pipe_choked(s->wsi) != 0;
}

/*
 * libwebsockets masks byte by byte, which took a third of all our time: it gets
 * the whole frame, to send as it is.
 */
void
wsock_send(struct wsock *s, uint8_t *data, size_t len, int flags)
{
	enum ws_opcode	 opcode = (flags & WSOCK_CONTINUED) != 0 ?
			    WS_CONTINUATION : (flags & WSOCK_BINARY) != 0 ?
			    WS_BINARY : WS_TEXT;
	uint8_t		 head[WS_HEADER_MAX], mask[4];
	size_t		 n;

	_Static_assert(WS_HEADER_MAX <= LWS_PRE, "room for the header");
	if (s->wsi == NULL)
		return;
	randombytes_buf(mask, sizeof(mask));
	n = ws_header(head, (flags & WSOCK_MORE) == 0, opcode, len, mask);
	ws_mask(data, len, mask);
	memcpy(data - n, head, n);
	if (lws_write(s->wsi, data - n, n + len, LWS_WRITE_HTTP) <
	    (int)(n + len))
		s->has_failed = true;
}

void
wsock_ping(struct wsock *s)
{
	uint8_t	 room[LWS_PRE + 1];

	if (s->wsi != NULL &&
	    lws_write(s->wsi, room + LWS_PRE, 0, LWS_WRITE_PING) < 0)
		s->has_failed = true;
}

void
wsock_read(struct wsock *s, bool wanted)
{
	if (s->wsi != NULL)
		(void)lws_rx_flow_control(s->wsi, wanted);
}

void
wsock_fail(struct wsock *s)
{
	s->has_failed = true;
	wsock_want(s);
}

int
wsock_fd(struct wsock *s)
{
	return s->wsi == NULL ? -1 : lws_get_socket_fd(s->wsi);
}
