/*
 * common/net/ws.c on hostile bytes.  First byte: bit 0 the server side, bits
 * 1-2 and 3-4 the limits of frames and messages, bit 5 trims now and then.
 * Second and third: two ways to chop (0 whole, 1 as ws_reader_need() asks, else
 * a seed).  The rest goes over the wire.  Events are the same for any chopping,
 * and never larger than the limits.
 */
#include <stdlib.h>
#include <string.h>

#include "common/net/ws.h"

#define HEAD	3
#define MUST(x)	do { if (!(x)) abort(); } while (0)

struct trace {
	uint64_t	 hash;
	size_t		 events;
};

struct chopper {
	uint8_t		 how;
	uint32_t	 state;
};

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const size_t	 limits[] = { 0, 20, 300, 100000 };

static void
trace_add(struct trace *t, const void *data, size_t len)
{
	const uint8_t	*p = data;
	size_t		 i;

	for (i = 0; i < len; i++)
		t->hash = (t->hash ^ p[i]) * 0x100000001b3;
}

static void
trace_event(struct trace *t, const struct ws_event *ev)
{
	uint64_t	 row[5] = {
		ev->type, ev->is_binary, ev->is_utf8, ev->code, ev->len
	};

	trace_add(t, row, sizeof(row));
	if (ev->len > 0) {
		trace_add(t, ev->data, ev->len);
		memset(ev->data, 0xc1, ev->len);	/* ours to write to */
	}
	t->events++;
}

static void
check_event(const struct ws_event *ev, size_t message_max)
{
	switch (ev->type) {
	case WS_EV_MESSAGE:
		MUST(ev->len <= message_max);
		MUST(ev->is_binary || ev->is_utf8);
		break;
	case WS_EV_PING:
	case WS_EV_PONG:
		MUST(ev->len <= WS_CONTROL_MAX);
		break;
	case WS_EV_CLOSE:
		MUST(ev->len <= WS_CONTROL_MAX - 2 && ev->code >= 1000);
		break;
	case WS_EV_ERROR:
		MUST(ev->len == 0 && (ev->code == 1002 || ev->code == 1007 ||
		    ev->code == 1009));
		break;
	default:
		abort();
	}
}

static size_t
chop(struct chopper *c, const struct ws_reader *r, size_t left)
{
	size_t	 n = left;

	if (c->how == 1) {
		n = ws_reader_need(r);
	} else if (c->how > 1) {
		c->state = c->state * 1103515245 + 12345;
		n = 1 + (c->state >> 16) % (c->how < 128 ? 8 : 600);
	}
	MUST(n >= 1);
	return n < left ? n : left;
}

static void
feed(struct ws_reader *r, const uint8_t *data, size_t n)
{
	uint8_t	*room;
	size_t	 size;

	MUST((room = ws_reader_room(r, n, &size)) != NULL && size >= n);
	memset(room, 0x81, size);
	memcpy(room, data, n);
	ws_reader_fed(r, n);
}

static struct trace
run(const uint8_t *data, size_t size, uint8_t how)
{
	size_t			 frame_max = limits[data[0] >> 1 & 3];
	size_t			 message_max = limits[data[0] >> 3 & 3];
	struct chopper		 c = { how, how };
	struct trace		 t = { 0xcbf29ce484222325, 0 };
	struct ws_reader	 r;
	struct ws_event		 ev;
	size_t			 at, n;

	ws_reader_init(&r, (data[0] & 1) != 0, frame_max, message_max);
	for (at = HEAD; at < size; at += n) {
		n = chop(&c, &r, size - at);
		feed(&r, data + at, n);
		MUST(r.cap <= 2 * at + n + 16384);
		for (;;) {
			ws_reader_next(&r, &ev);
			if (ev.type == WS_EV_NONE)
				break;
			check_event(&ev, message_max);
			trace_event(&t, &ev);
			if (ev.type == WS_EV_ERROR)
				goto out;
		}
		if ((data[0] & 32) != 0 && n % 3 == 0)
			ws_reader_trim(&r);
	}
 out:
	/* An error stays; otherwise all is either held or used up. */
	n = ev.type == WS_EV_ERROR ? ev.code : 0;
	ws_reader_next(&r, &ev);
	MUST(ev.type == (n != 0 ? WS_EV_ERROR : WS_EV_NONE) && ev.code == n);
	ws_reader_trim(&r);
	MUST(!ws_reader_is_empty(&r) || r.cap == 0);
	ws_reader_fini(&r);
	return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace	 a, b;

	if (size <= HEAD)
		return 0;
	a = run(data, size, data[1]);
	b = run(data, size, data[2]);
	MUST(a.events == b.events && a.hash == b.hash);
	return 0;
}
