#include "t/unit/local_end_help.h"

#include <sys/socket.h>

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/limit.h"

#define TICK_MS	5

struct rig	 rig;

/* --- the carrier -----------------------------------------------------------*/

static bool
on_first(void *arg, uint8_t **data_out, size_t *len_out)
{
	MUST(arg == &rig);
	rig.firsts++;
	if (rig.at == rig.nto)
		return false;
	*data_out = rig.to[rig.at].data;
	*len_out = rig.to[rig.at].len;
	if (rig.is_moving) {
		/* As record_first(): where it is may change. */
		free(rig.moved);
		MUST((rig.moved = malloc(*len_out + 1)) != NULL);
		memcpy(rig.moved, *data_out, *len_out);
		*data_out = rig.moved;
	}
	return true;
}

static void
on_drop(void *arg)
{
	MUST(arg == &rig);
	MUST(rig.at < rig.nto);
	rig.at++;
}

static void
on_output(void *arg)
{
	MUST(arg == &rig);
	rig.outputs++;
}

static void
on_ping(void *arg)
{
	const uint8_t	*data;
	size_t		 len;

	MUST(arg == &rig);
	/* All that came before it was taken. */
	MUST(!local_end_output(rig.local_end, &data, &len));
	rig.pings++;
	if (rig.answers_pings)
		local_end_pong(rig.local_end);
}

static const struct local_end_events	 rig_events = {
	on_first, on_drop, on_output, on_ping
};

void
rig_say(const void *data, size_t len)
{
	ck_assert_uint_lt(rig.nto, RIG_MESSAGES);
	ck_assert_ptr_nonnull(rig.to[rig.nto].data = malloc(len + 1));
	memcpy(rig.to[rig.nto].data, data, len);
	rig.to[rig.nto++].len = len;
	local_end_push(rig.local_end);
}

void
rig_say_random(size_t len)
{
	uint8_t	*data = malloc(len + 1);
	size_t	 i;

	ck_assert_ptr_nonnull(data);
	randombytes_buf(data, len);
	for (i = 0; i < len; i++)
		data[i] &= 0x7f;	/* the worker wants text */
	rig_say(data, len);
	free(data);
}

bool
rig_is_output(const void *data, size_t len)
{
	const uint8_t	*out;
	size_t		 n;

	return local_end_output(rig.local_end, &out, &n) && n == len &&
	    memcmp(out, data, len) == 0;
}

/* --- the worker ------------------------------------------------------------*/

static void
on_frame(const struct ws_event *ev)
{
	switch (ev->type) {
	case WS_EV_MESSAGE:
		ck_assert_uint_lt(rig.got, rig.nto);
		ck_assert(!ev->is_binary);
		ck_assert_uint_eq(ev->len, rig.to[rig.got].len);
		ck_assert_int_eq(memcmp(ev->data, rig.to[rig.got].data,
		    ev->len), 0);
		rig.got++;
		break;
	case WS_EV_PONG:
		if (rig.pongs < RIG_MESSAGES) {
			memcpy(rig.pong_data[rig.pongs], ev->data, ev->len);
			rig.pong_len[rig.pongs] = ev->len;
		}
		rig.pongs++;
		break;
	default:
		rig.is_bad = true;
	}
}

void
rig_hear(size_t max)
{
	struct ws_event	 ev;
	uint8_t		*room;
	size_t		 size;
	ssize_t		 n;

	while (max > 0 && rig.worker != -1) {
		room = ws_reader_room(&rig.reader, 65536, &size);
		MUST(room != NULL);
		n = recv(rig.worker, room, size < max ? size : max,
		    MSG_DONTWAIT);
		if (n <= 0) {
			MUST(n == 0 || errno == EAGAIN);
			break;
		}
		ws_reader_fed(&rig.reader, (size_t)n);
		max -= (size_t)n;
		for (;;) {
			ws_reader_next(&rig.reader, &ev);
			if (ev.type == WS_EV_NONE || rig.is_bad)
				break;
			on_frame(&ev);
		}
	}
}

void
rig_raw(const void *data, size_t len)
{
	MUST(send(rig.worker, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)len);
}

void
rig_frame(bool fin, enum ws_opcode opcode, const void *data, size_t len)
{
	uint8_t	 head[WS_HEADER_MAX];

	rig_raw(head, ws_header(head, fin, opcode, len, NULL));
	rig_raw(data, len);
}

/* --- the loop --------------------------------------------------------------*/

/* So that lws_service() comes back to look. */
static void
on_tick(void *arg)
{
	rig.ticks++;
	wsloop_timer_set(&rig.loop, &rig.tick, TICK_MS, on_tick, arg);
}

uint64_t
rig_scaled(uint64_t ms)
{
	const char	*scale = getenv("T_SCALE");

	return scale == NULL ? ms : ms * strtoul(scale, NULL, 10);
}

void
rig_turn(void)
{
	MUST(lws_service(rig.loop.lws, 0) >= 0);
}

void
rig_idle(void)
{
	uint64_t	 until = rig.ticks + 4;

	while (rig.ticks < until)
		rig_turn();
}

/*
 * libwebsockets itself goes round and round in the last millisecond before a
 * timer, ours or one of its own: so milliseconds with a turn are counted.
 */
void
rig_ck_calm(void)
{
	uint64_t	 before = rig.ticks, until = clock_ms() + 100, now;
	uint64_t	 last = 0;
	unsigned	 n = 0;

	wsloop_timer_set(&rig.loop, &rig.tick, 200, on_tick, NULL);
	for (; rig.ticks == before; rig_turn()) {
		now = clock_ms();
		n += now < until && now != last;
		last = now;
	}
	ck_assert_msg(n < 20, "turns in %u of 100 ms", n);
}

void
rig_shrink(void)
{
	int		 fd, type, one = 1;
	socklen_t	 len;

	for (fd = 3; fd < 64; fd++) {
		len = sizeof(type);
		if (fd != rig.worker && getsockopt(fd, SOL_SOCKET, SO_TYPE,
		    &type, &len) == 0 && type == SOCK_STREAM)
			ck_assert_int_eq(setsockopt(fd, SOL_SOCKET,
			    SO_SNDBUF, &one, sizeof(one)), 0);
	}
}

/* --- fixtures --------------------------------------------------------------*/

void
rig_start(const struct local_end_events *events)
{
	rig.local_end = local_end_to_worker(&rig.loop, events != NULL ? events :
	    &rig_events, &rig, &rig.worker);
	ck_assert_ptr_nonnull(rig.local_end);
	ck_assert_int_ge(rig.worker, 0);
	/* A frame above LIMIT_FRAGMENT is an error here. */
	ws_reader_init(&rig.reader, true, LIMIT_FRAGMENT, LIMIT_MESSAGE);
}

void
rig_stop(void)
{
	local_end_free(&rig.local_end);
	ck_assert_ptr_null(rig.local_end);
	local_end_free(&rig.local_end);
	fd_close(&rig.worker);
	ws_reader_fini(&rig.reader);
}

void
rig_setup(void)
{
	ck_assert_int_ge(sodium_init(), 0);
	memset(&rig, 0, sizeof(rig));
	ck_assert_int_eq(wsloop_init(&rig.loop), 0);
	wsloop_timer_set(&rig.loop, &rig.tick, TICK_MS, on_tick, NULL);
	rig.answers_pings = true;
	rig_start(NULL);
}

void
rig_teardown(void)
{
	size_t	 i;

	rig_stop();
	rig_idle();
	wsloop_timer_clear(&rig.loop, &rig.tick);
	wsloop_fini(&rig.loop);
	for (i = 0; i < rig.nto; i++)
		free(rig.to[i].data);
	free(rig.moved);
}
