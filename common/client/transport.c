/* Bytes and frames of one connection. */
#include <sys/random.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "common/client/client_priv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"

#define READ_MIN	16384
#define TURN_MAX	(256 * 1024)	/* bytes read before others are asked */
#define OUT_KEEP	(256 * 1024)	/* bytes of memory kept for the next */
#define HEARTBEAT_MS	5000		/* while nothing is read */
#define SILENCE_MS	35000		/* then the server is given up */
#define OPEN_MS		10000	/* to connect and upgrade; to initialize */
#define RECOVER_MS	25000	/* as the stock client's */

/* A message may wait while another of that size is being written. */
#define OUT_MAX		((size_t)2 * LIMIT_MESSAGE + LIMIT_FRAGMENT)

struct execsrv *
execsrv_new(void)
{
	struct execsrv	*x;

	if ((x = calloc(1, sizeof(*x))) == NULL)
		return NULL;
	x->fd = x->epoll = x->timer = x->watched = x->log =
	    x->child.pidfd = -1;
	x->clock = clock_ms;
	x->state = EXECSRV_WAITING;
	x->is_opening = true;
	x->connect_ms = x->initialize_ms = OPEN_MS;
	x->silence_ms = SILENCE_MS;
	x->patience = RECOVER_MS;
	buf_init(&x->head, EXECSRV_HEAD_MAX);
	buf_init(&x->out, OUT_MAX);
	buf_init(&x->text, LIMIT_MESSAGE);
	/* The reference never sends fragments, however long it talks. */
	ws_reader_init(&x->reader, false, LIMIT_MESSAGE, LIMIT_MESSAGE);
	json_init(&x->json);
	x->read_max = EXECSRV_READ_MAX;
	TAILQ_INIT(&x->calls);
	TAILQ_INIT(&x->processes);
	TAILQ_INIT(&x->freed);
	TAILQ_INIT(&x->orphans);
	TAILQ_INIT(&x->https);
	TAILQ_INIT(&x->freed_https);
	TAILQ_INIT(&x->watches);
	TAILQ_INIT(&x->transfers);
	return x;
}

void
execsrv_free(struct execsrv **xp)
{
	struct execsrv		*x = *xp;
	struct execsrv_process	*p;
	struct execsrv_orphan	*o;
	struct execsrv_transfer	*t;
	struct execsrv_watch	*w;
	struct execsrv_http	*h;
	struct execsrv_call	*c;

	*xp = NULL;
	if (x == NULL)
		return;
	while ((p = TAILQ_FIRST(&x->processes)) != NULL)
		execsrv_process_free(&p);
	execsrv_process_bury(x);
	while ((h = TAILQ_FIRST(&x->https)) != NULL)
		execsrv_http_free(&h);
	execsrv_http_bury(x);
	while ((w = TAILQ_FIRST(&x->watches)) != NULL)
		execsrv_watch_free(&w);
	while ((t = TAILQ_FIRST(&x->transfers)) != NULL)
		execsrv_transfer_destroy(t);
	while ((c = TAILQ_FIRST(&x->calls)) != NULL) {
		if (c->owns_arg)
			free(c->arg);
		execsrv_call_free(x, c);
	}
	while ((o = TAILQ_FIRST(&x->orphans)) != NULL) {
		TAILQ_REMOVE(&x->orphans, o, entry);
		free(o);
	}
	execsrv_unwatch(x);
	execsrv_end_child(x, false);
	fd_close(&x->fd);
	fd_close(&x->log);
	fd_close(&x->timer);
	fd_close(&x->epoll);
	buf_fini(&x->head);
	buf_fini(&x->out);
	buf_fini(&x->text);
	ws_reader_fini(&x->reader);
	json_fini(&x->json);
	free(x->cwd);
	free(x->name);
	free(x->where);
	execsrv_reach_fini(x);
	sodium_free(x->token);
	free(x);
}

/* Which states may follow which: bits. */
static const unsigned	 next_states[] = {
#define TO(state)	(1u << EXECSRV_##state)
	[EXECSRV_WAITING] = TO(CONNECTING) | TO(GONE),
	[EXECSRV_CONNECTING] = TO(UPGRADING) | TO(WAITING) | TO(GONE),
	[EXECSRV_UPGRADING] = TO(INITIALIZING) | TO(WAITING) | TO(GONE),
	[EXECSRV_INITIALIZING] = TO(CATCHING_UP) | TO(WAITING) | TO(GONE),
	[EXECSRV_CATCHING_UP] = TO(OPEN) | TO(WAITING) | TO(GONE),
	[EXECSRV_OPEN] = TO(WAITING) | TO(GONE),
	[EXECSRV_GONE] = 0,
#undef TO
};

void
execsrv_set_state(struct execsrv *x, enum execsrv_state to)
{
	assert((next_states[x->state] & (1u << to)) != 0);
	x->state = to;
	if (to == EXECSRV_GONE)
		execsrv_add_last_words(x);
}

bool
execsrv_has_frames(const struct execsrv *x)
{
	return !x->is_lost && (x->state == EXECSRV_OPEN ||
	    x->state == EXECSRV_INITIALIZING ||
	    x->state == EXECSRV_CATCHING_UP);
}

bool
execsrv_is_open(const struct execsrv *x)
{
	return x->state == EXECSRV_OPEN && !x->is_lost;
}

enum execsrv_status
execsrv_status(const struct execsrv *x)
{
	if (x->state == EXECSRV_GONE)
		return EXECSRV_FAILED;
	if (x->is_opening)
		return EXECSRV_OPENING;
	if (!execsrv_is_open(x))
		return EXECSRV_RECOVERING;
	return x->is_ending ? EXECSRV_ENDING : EXECSRV_CONNECTED;
}

int
execsrv_lose(struct execsrv *x, const char *fmt, ...)
{
	char	 text[sizeof(x->why.text)];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (x->session[0] == '\0' || x->patience == 0 || x->is_ending)
		return execsrv_fail(x, "%s", text);
	if (!x->is_lost && x->state != EXECSRV_GONE) {
		execsrv_error_set(&x->lost, 0, "%s", text);
		x->is_lost = true;
		execsrv_rewatch(x);
	}
	errno = EPIPE;
	return -1;
}

int
execsrv_fail_as(struct execsrv *x, const struct execsrv_error *e)
{
	if (x->state != EXECSRV_GONE) {
		execsrv_error_set(&x->why, e->code, "%s", e->text);
		execsrv_set_state(x, EXECSRV_GONE);
		execsrv_rewatch(x);
	}
	errno = EPIPE;
	return -1;
}

int
execsrv_fail(struct execsrv *x, const char *fmt, ...)
{
	struct execsrv_error	 e = { .code = 0 };
	va_list			 ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	return execsrv_fail_as(x, &e);
}

const struct execsrv_error *
execsrv_why(const struct execsrv *x)
{
	return &x->why;
}

void
execsrv_hold(struct execsrv *x, bool hold)
{
	/* What was missing may have lain unread. */
	if (x->held && !hold) {
		execsrv_process_restart_wait(x);
		x->last_heard = x->clock();
		x->is_pinged = false;
	}
	x->held = hold;
	execsrv_rewatch(x);
}

/* --- out --- */

static int
client_conn_put_frame(struct execsrv *x, bool fin, enum ws_opcode opcode,
    const void *data, size_t len)
{
	uint8_t	*room, mask[4];
	size_t	 n;

	/* So short a wish is granted whole or, early at boot, not at all. */
	if (getrandom(mask, sizeof(mask), 0) != sizeof(mask))
		return execsrv_fail(x, "no random numbers: %s",
		    strerror(errno));
	if ((room = buf_reserve(&x->out, WS_HEADER_MAX + len)) == NULL)
		return execsrv_fail(x, "too much waits to be sent");
	n = ws_header(room, fin, opcode, len, mask);
	if (len > 0)
		memcpy(room + n, data, len);
	ws_mask(room + n, len, mask);
	buf_commit(&x->out, n + len);
	return 0;
}

static int
send_line(struct execsrv *x, const void *data, size_t len)
{
	int	 r = execsrv_put_line(x, data, len);

	if (r == 0)
		r = execsrv_flush(x);
	execsrv_rewatch(x);
	return r;
}

int
execsrv_send(struct execsrv *x, enum ws_opcode opcode, const void *data,
    size_t len)
{
	const uint8_t	*p = data;
	size_t		 n, at = 0;
	bool		 fin;
	int		 r;

	if (!execsrv_has_frames(x)) {
		errno = EPIPE;
		return -1;
	}
	if (x->is_lines)
		return opcode != WS_TEXT ? 0 : send_line(x, data, len);
	do {
		n = len - at;
		fin = n <= LIMIT_FRAME;
		if (!fin || at > 0)
			n = n < LIMIT_FRAGMENT ? n : LIMIT_FRAGMENT;
		fin = at + n == len;
		if (client_conn_put_frame(x, fin, at == 0 ? opcode :
		    WS_CONTINUATION, n == 0 ? NULL : p + at, n) == -1)
			return -1;
		at += n;
	} while (at < len);
	r = execsrv_flush(x);
	execsrv_rewatch(x);
	return r;
}

int
execsrv_flush(struct execsrv *x)
{
	ssize_t	 n;

	if (!execsrv_has_frames(x))
		return -1;
	while (x->out.len > 0 && x->fd != -1 && !x->out_broken) {
		n = send(x->fd, buf_data(&x->out), x->out.len, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return 0;
		/* What the server said before it went is still to be read. */
		if (n == -1)
			x->out_broken = true;
		else
			buf_drain(&x->out, (size_t)n);
		x->last_sent = x->clock();
		/* It takes what we send: what it says comes behind that. */
		if (n > 0 && x->out.len > 0)
			x->last_heard = x->last_sent;
	}
	if (x->out_broken)
		buf_drain(&x->out, x->out.len);
	buf_trim(&x->out, OUT_KEEP);
	return 0;
}

static void
send_pong(struct execsrv *x)
{
	if (x->has_pong && x->out.len < LIMIT_OUT_PONGS) {
		x->has_pong = false;
		execsrv_send(x, WS_PONG, x->pong, x->pong_len);
	}
}

/* --- in --- */

/* An answer that is no answer, or a close: say so and end. */
static void
client_conn_on_close(struct execsrv *x, const struct ws_event *ev)
{
	uint8_t	 code[2] = { (uint8_t)(ev->code >> 8), (uint8_t)ev->code };

	execsrv_send(x, WS_CLOSE, code, ev->code == 1005 ? 0 : sizeof(code));
	if (ev->type == WS_EV_ERROR)
		execsrv_lose(x, "the server breaks the rules of WebSocket "
		    "(%u)", (unsigned)ev->code);
	else
		execsrv_lose(x, "the server closed the connection (%u%s%.*s)",
		    (unsigned)ev->code, ev->len > 0 ? ": " : "",
		    (int)ev->len, ev->len > 0 ? (char *)ev->data : "");
}

static void
client_conn_on_event(struct execsrv *x, const struct ws_event *ev)
{
	switch (ev->type) {
	case WS_EV_MESSAGE:
		if (ev->is_utf8)
			execsrv_on_message(x, (char *)ev->data, ev->len);
		else
			execsrv_lose(x, "the server sent a message that is "
			    "not UTF-8");
		break;
	case WS_EV_PING:
		/* Of a flood only the last needs a pong. */
		if (ev->len > 0)
			memcpy(x->pong, ev->data, ev->len);
		x->pong_len = ev->len;
		x->has_pong = true;
		send_pong(x);
		break;
	case WS_EV_CLOSE:
	case WS_EV_ERROR:
		client_conn_on_close(x, ev);
		break;
	case WS_EV_PONG:
	case WS_EV_NONE:
		break;
	}
}

static int
drain_events(struct execsrv *x)
{
	struct ws_event	 ev;

	while (execsrv_has_frames(x)) {
		ws_reader_next(&x->reader, &ev);
		if (ev.type == WS_EV_NONE) {
			json_trim(&x->json);
			return 0;
		}
		client_conn_on_event(x, &ev);
	}
	return -1;
}

static int
feed_frames(struct execsrv *x, const void *data, size_t len)
{
	uint8_t	*room;
	size_t	 size;

	if (len > 0) {
		if ((room = ws_reader_room(&x->reader, len, &size)) == NULL)
			return execsrv_fail(x, "out of memory");
		memcpy(room, data, len);
		ws_reader_fed(&x->reader, len);
	}
	return drain_events(x);
}

/* Bytes of the answer to the upgrade; what is behind it are frames. */
static int
feed_head(struct execsrv *x, const void *data, size_t len)
{
	const uint8_t	*head;
	const char	*end;
	size_t		 old = x->head.len, n, room = EXECSRV_HEAD_MAX - old;
	size_t		 take = len < room ? len : room;

	if (take > 0 && buf_put(&x->head, data, take) == -1)
		return execsrv_fail(x, "out of memory");
	if (x->head.len == 0 || (end = memmem(buf_data(&x->head),
	    x->head.len, "\r\n\r\n", 4)) == NULL) {
		if (x->head.len < EXECSRV_HEAD_MAX)
			return 0;
		return execsrv_lose(x, "the server answers at too much "
		    "length");
	}
	n = (size_t)(end + 4 - (char *)buf_data(&x->head));
	head = buf_data(&x->head);
	if (execsrv_upgrade_judge((const char *)head, n, x->key, &x->why) ==
	    -1) {
		/* One that is being started again, say, will know better. */
		if (x->session[0] != '\0' && n > 9 && head[9] == '5')
			return execsrv_lose(x, "%s", x->why.text);
		execsrv_set_state(x, EXECSRV_GONE);
		return -1;
	}
	buf_fini(&x->head);
	execsrv_set_state(x, EXECSRV_INITIALIZING);
	return feed_frames(x, (const char *)data + (n - old), len - (n - old));
}

int
execsrv_feed(struct execsrv *x, const void *data, size_t len)
{
	if (x->is_lines)
		return execsrv_feed_lines(x, data, len);
	if (x->state == EXECSRV_UPGRADING && !x->is_lost)
		return feed_head(x, data, len);
	return execsrv_has_frames(x) ? feed_frames(x, data, len) : -1;
}

/* One read into the reader.  1: go on; 0: nothing there; -1: failed. */
static int
client_conn_read_some(struct execsrv *x, size_t *n_out)
{
	uint8_t	*room, head[READ_MIN];
	size_t	 size = sizeof(head);
	ssize_t	 n;

	if (x->state == EXECSRV_UPGRADING || x->is_lines)
		room = head;
	else if ((room = ws_reader_room(&x->reader, READ_MIN, &size)) == NULL)
		return execsrv_fail(x, "out of memory");
	if ((n = recv(x->fd, room, size, 0)) == -1) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		return execsrv_lose(x, "the connection is lost: %s",
		    strerror(errno));
	}
	if (n == 0)
		return execsrv_lose(x, "the server closed the connection");
	*n_out += (size_t)n;
	x->last_heard = x->clock();
	x->is_pinged = false;
	if (x->state == EXECSRV_CATCHING_UP)
		x->attempt_at = x->last_heard + EXECSRV_CATCH_UP_MS;
	if (room == head)
		return execsrv_feed(x, head, (size_t)n) == -1 ? -1 : 1;
	ws_reader_fed(&x->reader, (size_t)n);
	return drain_events(x) == -1 ? -1 : (size_t)n == size;
}

static int
read_in(struct execsrv *x)
{
	size_t	 n = 0;
	int	 r;

	do
		r = client_conn_read_some(x, &n);
	while (r == 1 && !x->held && n < TURN_MAX);
	ws_reader_trim(&x->reader);
	return r == -1 ? -1 : 0;
}

/* --- for loops --- */

short
execsrv_events(const struct execsrv *x)
{
	short	 events = 0;

	if (x->state == EXECSRV_GONE)
		return 0;
	if (x->is_lost || !execsrv_has_frames(x))
		return execsrv_recover_events(x);
	if (!x->held || x->state != EXECSRV_OPEN)
		events |= POLLIN;
	if (x->out.len > 0)
		events |= POLLOUT;
	return events;
}

/* ms of silence after which a ping is sent: time is left for its answer. */
static uint64_t
client_conn_ping_ms(const struct execsrv *x)
{
	return (uint64_t)x->silence_ms * 3 / 7;
}

/* ms until the server has been silent for too long, or -1. */
static int
silence_ms(const struct execsrv *x)
{
	uint64_t	 silent = x->clock() - x->last_heard;
	uint64_t	 limit = x->is_pinged ? (uint64_t)x->silence_ms :
			    client_conn_ping_ms(x);

	if (x->is_lines)
		return -1;
	return silent < limit ? (int)(limit - silent) : 0;
}

/* Of two times, -1 for ever. */
static int
client_conn_least(int a, int b)
{
	return a == -1 || (b != -1 && b < a) ? b : a;
}

int
execsrv_wait_ms(const struct execsrv *x)
{
	uint64_t	 silent;

	if (x->state == EXECSRV_GONE || x->has_work)
		return 0;
	if (!execsrv_is_open(x))
		return execsrv_recover_wait_ms(x);
	if (!x->held)
		return client_conn_least(execsrv_process_wait_ms(x),
		    silence_ms(x));
	silent = x->clock() - x->last_sent;
	return silent < HEARTBEAT_MS ? (int)(HEARTBEAT_MS - silent) :
	    x->out.len > 0 ? HEARTBEAT_MS : 0;
}

/* Pings lie unread while held: a pong nobody asked for is a sign of life too
   (RFC 6455 section 5.5.3). */
static void
give_sign(struct execsrv *x)
{
	if (x->held && x->out.len == 0 &&
	    x->clock() - x->last_sent >= HEARTBEAT_MS) {
		execsrv_send(x, WS_PONG, NULL, 0);
		x->last_sent = x->clock();	/* tried, if nobody reads it */
	}
}

/* A connection may be dead without a word; a server answers pings. */
static void
check_silence(struct execsrv *x)
{
	if (silence_ms(x) != 0)
		return;
	if (x->is_pinged) {
		execsrv_lose(x, "the server does not answer");
		return;
	}
	/* Late, perhaps: it has its time from now on. */
	x->last_heard = x->clock() - client_conn_ping_ms(x);
	x->is_pinged = true;
	execsrv_send(x, WS_PING, NULL, 0);
}

static void
client_conn_handle(struct execsrv *x, short revents)
{
	if (!execsrv_is_open(x))
		execsrv_recover_step(x, revents);
	if (execsrv_has_frames(x) || (x->state == EXECSRV_UPGRADING &&
	    !x->is_lost)) {
		if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
		    (!x->held || x->state != EXECSRV_OPEN))
			(void)read_in(x);
		give_sign(x);
		send_pong(x);
		if (!x->held && execsrv_is_open(x)) {
			execsrv_process_check(x);
			check_silence(x);
		}
		if (execsrv_has_frames(x))
			execsrv_flush(x);
	}
	if (x->state != EXECSRV_GONE && !execsrv_is_open(x))
		execsrv_recover_check(x);
	if (x->is_lost && x->state != EXECSRV_GONE)
		execsrv_recover(x);
}

int
execsrv_handle(struct execsrv *x, short revents)
{
	x->is_busy = true;
	if (x->state != EXECSRV_GONE)
		client_conn_handle(x, revents);
	if (x->state == EXECSRV_GONE) {
		execsrv_fail_calls(x);
		execsrv_process_lose_all(x);
	}
	if (x->has_work)
		execsrv_transfer_work(x);
	x->is_busy = false;
	execsrv_process_bury(x);
	execsrv_http_bury(x);
	execsrv_rewatch(x);
	return x->state == EXECSRV_GONE ? -1 : 0;
}
