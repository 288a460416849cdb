/*
 * How much input keeps the line to the server busy: what is sent beyond that
 * lies in queues on the way, and every later message waits behind it.  Measured
 * by pings, which a server answers when it has read what came before.
 */
#include <assert.h>
#include <string.h>

#include "common/client/transport/transport_priv.h"
#include "common/limit.h"

#define IDLE_US	2000	/* more than a turn of the caller's loop takes */

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

/* All is in the kernel, and more could be, from now on. */
static void
drained(struct transport *t)
{
	if (t->room.drained_at == 0 && t->out.len == 0 &&
	    !inflight_is_full(&t->room.line, t->room.sent))
		t->room.drained_at = now_us(t);
}

/* It has been so for longer than the caller takes for more. */
static void
check_idle(struct transport *t, uint64_t now)
{
	if (t->room.drained_at != 0 && now - t->room.drained_at >= IDLE_US)
		inflight_idle(&t->room.line, t->room.drained_at);
}

void
room_on_sent(struct transport *t, size_t len)
{
	uint64_t	 now = now_us(t);

	check_idle(t, now);
	t->room.drained_at = 0;
	inflight_resume(&t->room.line, t->room.sent, now);
	t->room.sent += len;
	drained(t);
	ask(t);
}

void
room_on_pong(struct transport *t, const void *data, size_t len)
{
	uint64_t	 now = now_us(t);

	/* Not an older one, of another kind, or one that nobody wanted. */
	if (!t->room.line.is_asked || len != sizeof(t->room.pings) ||
	    memcmp(data, &t->room.pings, len) != 0)
		return;
	check_idle(t, now);
	inflight_answer(&t->room.line, now);
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
