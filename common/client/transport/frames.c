/* WebSocket frames, and the answer to the upgrade before them. */
#include <sys/random.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/transport/transport_priv.h"

void
frames_init(struct transport *t)
{
	/* The reference never sends fragments, whatever the length. */
	ws_reader_init(&t->reader, false, LIMIT_MESSAGE, LIMIT_MESSAGE);
}

void
frames_fini(struct transport *t)
{
	ws_reader_fini(&t->reader);
}

/* --- out --- */

static int
put_fragment(struct transport *t, bool fin, enum ws_opcode opcode,
    const void *data, size_t len)
{
	uint8_t	*room, mask[4];
	size_t	 n;

	/* So few bytes come whole or, early at boot, not at all. */
	if (getrandom(mask, sizeof(mask), 0) != sizeof(mask))
		return transport_fail(t, EXECSRV_WHY_SYSTEM, "getrandom: %s",
		    strerror(errno));
	if ((room = buf_reserve(&t->out, WS_HEADER_MAX + len)) == NULL)
		return transport_fail(t, EXECSRV_WHY_TOO_MUCH,
		    "too many bytes wait to be sent");
	n = ws_header(room, fin, opcode, len, mask);
	if (len > 0)
		memcpy(room + n, data, len);
	ws_mask(room + n, len, mask);
	buf_commit(&t->out, n + len);
	return 0;
}

int
frames_put(struct transport *t, enum ws_opcode opcode, const void *data,
    size_t len)
{
	const uint8_t	*p = data;
	size_t		 n, at = 0;
	bool		 fin;

	assert(t->state == TRANSPORT_UP && !t->is_lines);
	do {
		n = len - at;
		fin = n <= LIMIT_FRAME;
		if (!fin || at > 0)
			n = n < LIMIT_FRAGMENT ? n : LIMIT_FRAGMENT;
		fin = at + n == len;
		if (put_fragment(t, fin, at == 0 ? opcode : WS_CONTINUATION,
		    n == 0 ? NULL : p + at, n) == -1)
			return -1;
		at += n;
	} while (at < len);
	return 0;
}

void
frames_control(struct transport *t, enum ws_opcode opcode, const void *data,
    size_t len)
{
	assert(len <= WS_CONTROL_MAX);
	if (t->state != TRANSPORT_UP || t->is_lines)
		return;
	if (frames_put(t, opcode, data, len) == 0)
		transport_flush(t);
	t->events->on_change(t->arg);
}

void
frames_send_pong(struct transport *t)
{
	if (t->pong.is_due && t->out.len < LIMIT_OUT_PONGS) {
		t->pong.is_due = false;
		frames_control(t, WS_PONG, t->pong.data, t->pong.len);
	}
}

/* --- in --- */

/* A close, or frames that are none: send a close and end. */
static void
on_close(struct transport *t, const struct ws_event *ev)
{
	uint8_t	 code[2] = { (uint8_t)(ev->code >> 8), (uint8_t)ev->code };

	frames_control(t, WS_CLOSE, code, ev->code == 1005 ? 0 : sizeof(code));
	if (ev->type == WS_EV_ERROR)
		transport_lose(t, EXECSRV_WHY_PROTOCOL, "the server violated "
		    "RFC 6455 (%u)", (unsigned)ev->code);
	else
		transport_lose(t, EXECSRV_WHY_LOST, "the server closed the "
		    "connection (%u%s%.*s)", (unsigned)ev->code,
		    ev->len > 0 ? ": " : "", (int)ev->len,
		    ev->len > 0 ? (char *)ev->data : "");
}

static void
on_event(struct transport *t, const struct ws_event *ev)
{
	switch (ev->type) {
	case WS_EV_MESSAGE:
		if (ev->is_utf8)
			t->events->on_message(t->arg, (char *)ev->data,
			    ev->len);
		else
			transport_lose(t, EXECSRV_WHY_PROTOCOL, "the server "
			    "sent a message that is not UTF-8");
		break;
	case WS_EV_PING:
		/* Of a flood only the last needs a pong. */
		if (ev->len > 0)
			memcpy(t->pong.data, ev->data, ev->len);
		t->pong.len = ev->len;
		t->pong.is_due = true;
		frames_send_pong(t);
		break;
	case WS_EV_CLOSE:
	case WS_EV_ERROR:
		on_close(t, ev);
		break;
	case WS_EV_PONG:
		room_on_pong(t, ev->data, ev->len);
		break;
	case WS_EV_NONE:
		break;
	}
}

static int
drain_events(struct transport *t)
{
	struct ws_event	 ev;

	/* Any of them may end the connection. */
	while (t->state == TRANSPORT_UP) {
		ws_reader_next(&t->reader, &ev);
		if (ev.type == WS_EV_NONE)
			return 0;
		on_event(t, &ev);
	}
	return -1;
}

uint8_t *
frames_room(struct transport *t, size_t min, size_t *size_out)
{
	return ws_reader_room(&t->reader, min, size_out);
}

int
frames_fed(struct transport *t, size_t n)
{
	ws_reader_fed(&t->reader, n);
	return drain_events(t);
}

static int
feed_frames(struct transport *t, const void *data, size_t len)
{
	uint8_t	*room;
	size_t	 size;

	if (len == 0)
		return drain_events(t);
	if ((room = frames_room(t, len, &size)) == NULL)
		return transport_fail_memory(t);
	memcpy(room, data, len);
	return frames_fed(t, len);
}

/* Bytes of the answer to the upgrade; frames may follow it. */
static int
feed_head(struct transport *t, const void *data, size_t len)
{
	struct execsrv_error	 e;
	const char		*head, *end;
	size_t			 old = t->head.len, n;
	size_t			 room = EXECSRV_HEAD_MAX - old;
	size_t			 take = len < room ? len : room;

	if (take > 0 && buf_put(&t->head, data, take) == -1)
		return transport_fail_memory(t);
	if (t->head.len == 0 || (end = memmem(buf_data(&t->head),
	    t->head.len, "\r\n\r\n", 4)) == NULL) {
		if (t->head.len < EXECSRV_HEAD_MAX)
			return 0;
		return transport_lose(t, EXECSRV_WHY_PROTOCOL, "the server's "
		    "answer to the upgrade is longer than %d bytes",
		    EXECSRV_HEAD_MAX);
	}
	head = (char *)buf_data(&t->head);
	n = (size_t)(end + 4 - head);
	if (execsrv_upgrade_judge(head, n, t->head.len, t->key, &e) == -1) {
		/* A server that is being restarted will know better. */
		return n > 9 && head[9] == '5' ?
		    transport_lose_as(t, &e) : transport_fail_as(t, &e);
	}
	buf_fini(&t->head);
	transport_up(t);
	return feed_frames(t, (const char *)data + (n - old), len - (n - old));
}

int
frames_feed(struct transport *t, const void *data, size_t len)
{
	if (t->state == TRANSPORT_UPGRADING)
		return feed_head(t, data, len);
	return feed_frames(t, data, len);
}
