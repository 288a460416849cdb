#include "master/hub/relay/wslink.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"

#define READ_FIRST	4096		/* bytes of room, after silence */
#define READ_BUSY	(256 * 1024)	/* while they come in bulk */
#define TURN_MS		500		/* between two looks at the queue */
#define SILENT		3		/* intervals */

static void	 wslink_on_readable(void *arg);
static void	 wslink_on_drained(void *arg);
static void	 wslink_on_broken(void *arg);

static const struct hubconn_events conn_events = {
	.on_readable = wslink_on_readable,
	.on_drained = wslink_on_drained,
	.on_broken = wslink_on_broken,
};

/* --- pings --- */

static void
wslink_end(struct wslink *l, const char *why)
{
	l->events->on_end(l->arg, why);
}

static void
wslinks_on_turn(void *arg)
{
	struct wslinks	*all = arg;
	struct wslink	*l;
	uint64_t	 now = clock_ms();

	while ((l = TAILQ_FIRST(&all->queue)) != NULL && l->due <= now) {
		TAILQ_REMOVE(&all->queue, l, entry);
		l->due = now + all->interval;
		TAILQ_INSERT_TAIL(&all->queue, l, entry);
		if (now - l->heard >= SILENT * all->interval)
			wslink_end(l, "silent");
		else if (now - l->heard >= all->interval / 2)
			wslink_ping(l);
	}
	timer_set(&all->timer, TURN_MS);
}

void
wslinks_init(struct wslinks *all, struct event_base *base, uint64_t interval)
{
	assert(interval > 0);
	TAILQ_INIT(&all->queue);
	all->interval = interval;
	all->violations = 0;
	timer_init(&all->timer, base, wslinks_on_turn, all);
	timer_set(&all->timer, TURN_MS);
}

void
wslinks_fini(struct wslinks *all)
{
	assert(TAILQ_EMPTY(&all->queue));
	timer_stop(&all->timer);
}

/* --- what was read --- */

static int
wslink_begin_reading(struct wslink *l)
{
	if (l->reader != NULL)
		return 0;
	if ((l->reader = malloc(sizeof(*l->reader))) == NULL)
		return -1;
	ws_reader_init(l->reader, true, LIMIT_RELAY_MESSAGE,
	    LIMIT_RELAY_MESSAGE);
	return 0;
}

static void
wslink_end_reading(struct wslink *l)
{
	if (l->reader == NULL)
		return;
	ws_reader_fini(l->reader);
	free(l->reader);
	l->reader = NULL;
}

/* --- life --- */

int
wslink_init(struct wslink *l, struct wslinks *all, struct hubconn **cp,
    struct span rest, const struct wslink_events *e, void *arg)
{
	uint8_t	*room;
	size_t	 size;

	assert(*cp != NULL && l->conn == NULL);
	memset(l, 0, sizeof(*l));
	if (rest.len > 0) {
		if (wslink_begin_reading(l) == -1 || (room = ws_reader_room(
		    l->reader, rest.len, &size)) == NULL) {
			wslink_end_reading(l);
			return -1;
		}
		memcpy(room, rest.at, rest.len);
		ws_reader_fed(l->reader, rest.len);
	}
	l->all = all;
	l->events = e;
	l->arg = arg;
	l->heard = clock_ms();
	l->due = l->heard + all->interval;
	TAILQ_INSERT_TAIL(&all->queue, l, entry);
	l->conn = *cp;
	*cp = NULL;
	hubconn_own(l->conn, &conn_events, l);
	if (rest.len > 0)
		hubconn_look(l->conn);
	return 0;
}

static void
wslink_write(struct wslink *l, enum ws_opcode opcode, const void *data,
    size_t len)
{
	uint8_t		 head[WS_HEADER_MAX];
	struct iovec	 iov[2];

	assert(l->conn != NULL);
	assert(opcode < WS_CLOSE || len <= WS_CONTROL_MAX);
	iov[0].iov_base = head;
	iov[0].iov_len = ws_header(head, true, opcode, len, NULL);
	iov[1].iov_base = (void *)(uintptr_t)data;
	iov[1].iov_len = len;
	hubconn_write(l->conn, iov, 2);
}

void
wslink_fini(struct wslink *l, uint16_t code, const char *reason)
{
	uint8_t	 text[WS_CONTROL_MAX];
	size_t	 n = strlen(reason);

	if (l->conn == NULL)
		return;
	TAILQ_REMOVE(&l->all->queue, l, entry);
	wslink_end_reading(l);
	if (l->code != 0)
		code = l->code;
	if (code == 0) {
		hubconn_free(&l->conn);
		return;
	}
	if (n > sizeof(text) - 2)
		n = sizeof(text) - 2;
	text[0] = (uint8_t)(code >> 8);
	text[1] = (uint8_t)code;
	memcpy(text + 2, reason, n);
	wslink_write(l, WS_CLOSE, text, n + 2);
	hubconn_finish(&l->conn);
}

/* --- sending --- */

void
wslink_send(struct wslink *l, const void *data, size_t len)
{
	if (l->conn != NULL)
		wslink_write(l, WS_BINARY, data, len);
}

void
wslink_send_text(struct wslink *l, const void *data, size_t len)
{
	if (l->conn != NULL)
		wslink_write(l, WS_TEXT, data, len);
}

void
wslink_ping(struct wslink *l)
{
	wslink_write(l, WS_PING, "", 0);
}

uint32_t
wslink_pongs(const struct wslink *l)
{
	return l->pongs;
}

uint64_t
wslink_heard(const struct wslink *l)
{
	return l->heard;
}

size_t
wslink_queued(const struct wslink *l)
{
	return l->conn == NULL ? 0 : hubconn_queued(l->conn);
}

void
wslink_hold(struct wslink *l)
{
	if (l->conn != NULL)
		hubconn_hold(l->conn);
}

size_t
wslink_release(struct wslink *l, size_t n)
{
	return l->conn == NULL ? 0 : hubconn_release(l->conn, n);
}

void
wslink_unhold(struct wslink *l)
{
	if (l->conn != NULL)
		hubconn_unhold(l->conn);
}

static void
wslink_on_drained(void *arg)
{
	struct wslink	*l = arg;

	l->events->on_drained(l->arg);
}

static void
wslink_on_broken(void *arg)
{
	wslink_end(arg, "connection lost");
}

/* --- receiving --- */

void
wslink_pause(struct wslink *l)
{
	if (l->conn != NULL)
		hubconn_pause(l->conn);
}

void
wslink_resume(struct wslink *l)
{
	if (l->conn != NULL)
		hubconn_resume(l->conn);
}

bool
wslink_is_paused(const struct wslink *l)
{
	return l->conn != NULL && hubconn_is_paused(l->conn);
}

static bool
wslink_take(struct wslink *l, const struct ws_event *ev)
{
	switch (ev->type) {
	case WS_EV_MESSAGE:
		if (ev->is_binary)
			l->events->on_message(l->arg, ev->data, ev->len);
		else
			l->events->on_text(l->arg, ev->data, ev->len);
		return true;
	case WS_EV_PING:
		wslink_write(l, WS_PONG, ev->data, ev->len);
		return true;
	case WS_EV_PONG:
		l->pongs++;
		return true;
	case WS_EV_CLOSE:
		l->code = WSLINK_NORMAL;
		wslink_end(l, "closed");
		return false;
	case WS_EV_ERROR:
		l->all->violations++;
		l->code = ev->code;
		wslink_end(l, "protocol error");
		return false;
	default:
		return false;
	}
}

static void
wslink_on_readable(void *arg)
{
	struct wslink	*l = arg;
	struct ws_event	 ev;
	uint8_t		*room;
	size_t		 size;
	ssize_t		 n;

	assert(l->conn != NULL && l->code == 0);
	if (wslink_begin_reading(l) == -1 || (room = ws_reader_room(l->reader,
	    l->is_busy ? READ_BUSY : READ_FIRST, &size)) == NULL) {
		wslink_end(l, "out of memory");
		return;
	}
	if ((n = hubconn_read(l->conn, room, size)) == -1) {
		wslink_end(l, "connection lost");
		return;
	}
	ws_reader_fed(l->reader, (size_t)n);
	l->is_busy = (size_t)n == size || n >= READ_FIRST;
	if (n > 0)
		l->heard = clock_ms();
	do {
		ws_reader_next(l->reader, &ev);
	} while (ev.type != WS_EV_NONE && wslink_take(l, &ev));
	/* After WS_EV_NONE the link is still there. */
	if (ev.type == WS_EV_NONE && ws_reader_is_empty(l->reader))
		wslink_end_reading(l);
}
