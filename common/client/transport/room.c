/*
 * How much input keeps the line to the server busy: what is sent beyond that
 * lies in queues on the way, and every later message waits behind it.  Measured
 * by pings, which a server answers when it has read what came before.
 */
#include <assert.h>
#include <string.h>

#include "common/client/transport/transport_priv.h"
#include "common/limit.h"

static uint64_t
now_us(const struct transport *t)
{
	return t->clock() * 1000;
}

void
room_init(struct transport *t)
{
	memset(&t->room, 0, sizeof(t->room));
	inflight_init(&t->room.line, 0, LIMIT_INFLIGHT_FIRST,
	    LIMIT_INFLIGHT_MIN);
}

static void
ask(struct transport *t)
{
	if (t->is_lines || t->state != TRANSPORT_UP ||
	    !inflight_must_ask(&t->room.line, t->room.sent))
		return;
	inflight_ask(&t->room.line, t->room.sent, now_us(t));
	t->room.pings++;
	frames_control(t, WS_PING, &t->room.pings, sizeof(t->room.pings));
}

static void
drained(struct transport *t)
{
	if (t->room.line.drained_at == 0 && t->out.len == 0)
		inflight_drained(&t->room.line, t->room.sent, now_us(t));
}

void
room_on_sent(struct transport *t, size_t len)
{
	inflight_resume(&t->room.line, t->room.sent, now_us(t));
	t->room.sent += len;
	drained(t);
	ask(t);
}

void
room_on_pong(struct transport *t, const void *data, size_t len)
{
	/* Not an older one, of another kind, or one that nobody wanted. */
	if (!t->room.line.is_asked || len != sizeof(t->room.pings) ||
	    memcmp(data, &t->room.pings, len) != 0)
		return;
	inflight_answer(&t->room.line, now_us(t));
	drained(t);
	ask(t);
}

size_t
transport_room(const struct transport *t, bool is_first)
{
	const struct inflight	*line = &t->room.line;

	if (t->state != TRANSPORT_UP || t->is_lines)
		return SIZE_MAX;
	if (!inflight_is_full(line, t->room.sent))
		return inflight_piece(line, SIZE_MAX);
	return is_first ? LIMIT_INFLIGHT_MIN / 2 : 0;
}
