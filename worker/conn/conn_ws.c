/* Connections by WebSocket (RFC 6455) on a stream socket. */
#include "worker/conn/conn_priv.h"

#include <sys/socket.h>

#include <errno.h>
#include <string.h>

#include "common/limit.h"
#include "common/net/ws.h"

#define READ_MIN	4096		/* bytes of room for a read */
#define TURN_MAX	(1024 * 1024)	/* bytes read in a turn */
#define RECEIPT_LEN	8		/* payload of our pings: a position */

struct conn_ws {
	struct conn		 c;
	struct ws_reader	 reader;
	bool			 is_answer;	/* close answers the client's */
	bool			 has_pong;	/* one is queued */
	uint64_t		 pong_end;	/* flushed after that */
	uint8_t			 pong[WS_CONTROL_MAX];
	uint8_t			 pong_len;
};

static void
conn_ws_put_control(struct conn *c, enum conn_place place,
    enum ws_opcode opcode, const void *data, size_t len)
{
	uint8_t	 frame[WS_HEADER_MAX + WS_CONTROL_MAX];
	size_t	 n;

	n = ws_header(frame, true, opcode, len, NULL);
	if (len > 0)
		memcpy(frame + n, data, len);
	conn_put(c, place, frame, n + len);
}

static size_t
ws_head_len(size_t len)
{
	return ws_header_len(len);
}

static size_t
ws_tail_len(size_t len)
{
	(void)len;
	return 0;
}

static void
ws_put_head(char *at, size_t len, bool first, bool last)
{
	uint8_t	 head[WS_HEADER_MAX];
	size_t	 n;

	n = ws_header(head, last, first ? WS_TEXT : WS_CONTINUATION, len,
	    NULL);
	memcpy(at, head, n);
}

static void
ws_put_tail(char *at)
{
	(void)at;
}

static void
ws_ask_receipt(struct conn *c, uint64_t pos, enum conn_place place)
{
	uint8_t	 payload[RECEIPT_LEN];
	int	 i;

	for (i = 0; i < RECEIPT_LEN; i++)
		payload[i] = (uint8_t)(pos >> (56 - 8 * i));
	conn_ws_put_control(c, place, WS_PING, payload, sizeof(payload));
}

static void
ws_on_pong(struct conn *c, const struct ws_event *ev)
{
	uint64_t	 pos = 0;
	size_t		 i;

	if (ev->len != RECEIPT_LEN)
			return;			/* unsolicited, 5.5.3 */
	for (i = 0; i < RECEIPT_LEN; i++)
		pos = pos << 8 | ev->data[i];
	if (pos <= c->pos)
		conn_on_receipt(c, pos);
}

/* Of several pings only the last needs a pong (RFC 6455 section 5.5.3). */
static void
ws_on_ping(struct conn *c, const struct ws_event *ev)
{
	struct conn_ws	*w = (struct conn_ws *)c;

	if (c->queue.len < LIMIT_OUT_PONGS || c->flushed >= w->pong_end) {
		conn_ws_put_control(c, CONN_SOON, WS_PONG, ev->data, ev->len);
		w->pong_end = c->flushed + c->queue.len;
		return;
	}
	w->has_pong = true;
	w->pong_len = (uint8_t)ev->len;
	if (ev->len > 0)
		memcpy(w->pong, ev->data, ev->len);
}

static void
ws_put_close(struct conn *c, uint16_t code, const char *why)
{
	uint8_t	 payload[WS_CONTROL_MAX];
	size_t	 n = strnlen(why, sizeof(payload) - 2);

	/* The client's close frame has no reason to be returned. */
	if (((struct conn_ws *)c)->is_answer)
		n = 0;
	payload[0] = (uint8_t)(code >> 8);
	payload[1] = (uint8_t)code;
	memcpy(payload + 2, why, n);
	/* 1005: no code to return. */
	conn_ws_put_control(c, CONN_IN_TURN, WS_CLOSE, payload,
	    code == 1005 ? 0 : 2 + n);
}

static void
ws_on_event(struct conn *c, struct ws_event *ev)
{
	switch (ev->type) {
	case WS_EV_MESSAGE:
		conn_alive(c);
		c->has_long_frame = ev->is_one_frame && ev->len > LIMIT_FRAME;
		c->events->on_message(c->arg, (char *)ev->data, ev->len,
		    ev->is_utf8);
		break;
	case WS_EV_PING:
		ws_on_ping(c, ev);
		break;
	case WS_EV_PONG:
		ws_on_pong(c, ev);
		break;
	case WS_EV_CLOSE:
		((struct conn_ws *)c)->is_answer = true;
		conn_close(c, ev->code, "closed by the client");
		break;
	case WS_EV_ERROR:
		if (ev->code == 0)
			conn_end(c, "out of memory for a message");
		else
			conn_close(c, ev->code, ev->code == 1009 ?
			    "message too big" : "WebSocket protocol error");
		break;
	case WS_EV_NONE:
		break;
	}
}

/* Hand out messages; return whether all were. */
static bool
ws_drain_events(struct conn *c)
{
	struct conn_ws	*w = (struct conn_ws *)c;
	struct ws_event	 ev;

	while (conn_may_read(c)) {
		ws_reader_next(&w->reader, &ev);
		if (ev.type == WS_EV_NONE)
			return true;
		ws_on_event(c, &ev);
	}
	return false;
}

/* After our close frame discard input until the client's. */
static void
ws_discard(struct conn *c)
{
	char	 sink[4096];
	ssize_t	 n;
	int	 i;

	for (i = 0; i < 64; i++) {
		n = recv(c->in, sink, sizeof(sink), 0);
		if (n == 0 && c->state == CONN_ENDING) {
			/* Half-closed: it may still read. */
			io_stop(&c->read_ev);
			return;
		}
		if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
			conn_end(c, "closed");
			return;
		}
		if (n == -1)
			return;
	}
}

/* Return what the current frame needs, plus room for the next. */
static size_t
ws_want(const struct conn_ws *w)
{
	return ws_reader_held(&w->reader) + ws_reader_need(&w->reader) +
	    LIMIT_HELD_FREE;
}

static size_t
ws_unfinished(const struct conn *c)
{
	return ws_reader_held(&((const struct conn_ws *)c)->reader);
}

/* Read once; bytes, or 0: nothing now, or ever. */
static size_t
ws_read(struct conn *c)
{
	struct conn_ws	*w = (struct conn_ws *)c;
	uint8_t		*room;
	size_t		 size, need;
	ssize_t		 n;

	if (!conn_may_hold(c, ws_want(w)))
		return 0;
	if ((room = ws_reader_room(&w->reader, READ_MIN, &size)) == NULL) {
		conn_end(c, "out of memory for a message");
		return 0;
	}
	if (c->exact && (need = ws_reader_need(&w->reader)) < size)
		size = need;
	if (size > c->allowed - ws_unfinished(c))
		size = c->allowed - ws_unfinished(c);
	n = recv(c->in, room, size, 0);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == 0)
		conn_end_of_input(c, "the connection was lost");
	else if (n == -1)
		conn_end(c, strerror(errno));
	if (n <= 0)
		return 0;
	ws_reader_fed(&w->reader, (size_t)n);
	conn_on_bytes(c);
	/* A short read has emptied the socket; unless it was exact. */
	return (size_t)n < size && !c->exact ? 0 : (size_t)n;
}

static void
ws_on_input(struct conn *c)
{
	size_t		 n, taken = 0;

	if (c->state != CONN_OPEN) {
		if (c->state != CONN_GONE)
			ws_discard(c);
		return;
	}
	if (!ws_drain_events(c))
		return;
	do {
		n = ws_read(c);
		taken += n;
		if (!ws_drain_events(c))
			break;
	} while (n > 0 && taken < TURN_MAX);
}

/* The last pong is written: another may be queued. */
static void
ws_on_flushed(struct conn *c)
{
	struct conn_ws	*w = (struct conn_ws *)c;

	if (!w->has_pong || c->flushed < w->pong_end)
		return;
	w->has_pong = false;
	conn_ws_put_control(c, CONN_SOON, WS_PONG, w->pong, w->pong_len);
	w->pong_end = c->flushed + c->queue.len;
	conn_flush(c);
}

static void
ws_trim(struct conn *c)
{
	ws_reader_trim(&((struct conn_ws *)c)->reader);
}

static void
ws_fini(struct conn *c)
{
	ws_reader_fini(&((struct conn_ws *)c)->reader);
}

static const struct conn_ops ws_ops = {
	.head_len = ws_head_len,
	.tail_len = ws_tail_len,
	.put_head = ws_put_head,
	.put_tail = ws_put_tail,
	.on_input = ws_on_input,
	.unfinished = ws_unfinished,
	.ask_receipt = ws_ask_receipt,
	.put_close = ws_put_close,
	.on_flushed = ws_on_flushed,
	.trim = ws_trim,
	.fini = ws_fini,
};

struct conn *
conn_ws_new(struct event_base *base, int fd,
    const struct conn_events *events, void *arg)
{
	struct conn	*c;

	if ((c = conn_new(sizeof(struct conn_ws), base, fd, fd, &ws_ops,
	    events, arg)) == NULL)
		return NULL;
	ws_reader_init(&((struct conn_ws *)c)->reader, true, LIMIT_MESSAGE,
	    LIMIT_MESSAGE);
	return c;
}
