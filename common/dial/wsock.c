#include "common/dial/wsock.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/net/ws.h"

struct wsock {
	struct dial			*dial;
	const struct wsock_events	*events;
	void				*arg;
	struct lws			*wsi;		/* when open */
	const char			*authorization;	/* or NULL */
	const char			*header, *value;	/* likewise */
	struct buf			 message;	/* so far */
	uint64_t			 heard;		/* ms */
	bool				 has_failed, is_closing;
};

static int
wsock_on_piece(struct wsock *s, struct lws *wsi, const void *data, size_t len)
{
	assert(s->wsi == wsi);
	if (buf_put(&s->message, data, len) == -1) {
		log_warnx("WebSocket: %s", errno == EFBIG ?
		    "message too long" : "out of memory");
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
wsock_add_headers(const struct wsock *s, struct lws *wsi, uint8_t **p,
    uint8_t *end)
{
	if (s->authorization != NULL && lws_add_http_header_by_token(wsi,
	    WSI_TOKEN_HTTP_AUTHORIZATION, (const uint8_t *)s->authorization,
	    (int)strlen(s->authorization), p, end) != 0)
		return -1;
	return s->header == NULL ? 0 : dial_put_field(wsi, s->header, s->value,
	    p, end);
}

static void
on_goodbye(struct wsock *s, const uint8_t *data, size_t len)
{
	unsigned	 code = 1005;

	if (len >= 2)
		code = (unsigned)data[0] << 8 | data[1];
	if (s->events->on_close != NULL)
		s->events->on_close(s->arg, code, len > 2 ?
		    (const char *)data + 2 : "", len > 2 ? len - 2 : 0);
}

static int
wsock_on_event(void *arg, struct lws *wsi, enum lws_callback_reasons reason,
    void *in, size_t len)
{
	struct wsock	*s = arg;

	assert(s->dial != NULL);
	switch (reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		return wsock_add_headers(s, wsi, in, *(uint8_t **)in + len);
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		assert(s->wsi == NULL);
		s->wsi = wsi;
		s->heard = clock_ms();
		dial_done(s->dial);
		s->events->on_open(s->arg);
		break;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		s->heard = clock_ms();
		return wsock_on_piece(s, wsi, in, len);
	case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
		s->heard = clock_ms();
		s->events->on_pong(s->arg);
		break;
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		s->events->on_writable(s->arg);
		break;
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		on_goodbye(s, in, len);
		return 0;
	default:
		break;
	}
	if (s->is_closing)
		lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
	return s->has_failed || s->is_closing ? -1 : 0;
}

static void
wsock_on_end(void *arg, unsigned status, const char *why)
{
	struct wsock	*s = arg;

	s->wsi = NULL;
	s->events->on_end(s->arg, status, why);
}

static const struct dial_events dial_events = { wsock_on_event, wsock_on_end };

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
wsock_set_authorization(struct wsock *s, const char *text)
{
	s->authorization = text;
}

void
wsock_set_header(struct wsock *s, const char *name, const char *value)
{
	s->header = name;
	s->value = value;
}

bool
wsock_is_distrusted(const struct wsock *s)
{
	return dial_is_distrusted(s->dial);
}

uint64_t
wsock_last_received(const struct wsock *s)
{
	return s->heard;
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
 * Frame and mask here: libwebsockets masks byte by byte, which is slow, so it
 * gets the finished frame to send as raw bytes.
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

bool
wsock_send_text(struct wsock *s, struct wsock_text *t, const uint8_t *data,
    size_t len)
{
	size_t	 left = len - t->sent;
	size_t	 n = left < WSOCK_FRAME ? left : WSOCK_FRAME;
	int	 flags = (t->sent > 0 ? WSOCK_CONTINUED : 0) |
		    (n < left ? WSOCK_MORE : 0);

	assert(t->sent <= len);
	memcpy(t->room + LWS_PRE, data + t->sent, n);
	wsock_send(s, t->room + LWS_PRE, n, flags);
	t->sent = n < left ? t->sent + n : 0;
	return n == left;
}

static void
send_control(struct wsock *s, enum lws_write_protocol kind)
{
	uint8_t	 room[LWS_PRE + 1];

	if (s->wsi != NULL && lws_write(s->wsi, room + LWS_PRE, 0, kind) < 0)
		s->has_failed = true;
}

void
wsock_ping(struct wsock *s)
{
	send_control(s, LWS_WRITE_PING);
}

void
wsock_pong(struct wsock *s)
{
	send_control(s, LWS_WRITE_PONG);
}

void
wsock_read(struct wsock *s, bool wanted)
{
	if (s->wsi != NULL)
		(void)lws_rx_flow_control(s->wsi, wanted);
}

void
wsock_close(struct wsock *s)
{
	s->is_closing = true;
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
