#include "common/ev.h"
#include "worker/conn/conn_priv.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"

#define QUEUE_MAX	(2 * (size_t)LIMIT_MESSAGE)
#define QUEUE_KEEP	(512 * 1024)	/* between turns: output of one */
#define PART		(64 * 1024)	/* bytes of a frame generated at once */
#define PART_FLUSH	(2 * PART)
#define LINGER_MS	1000		/* for the client's close frame */

static void	 conn_on_read(void *);
static void	 conn_on_write(void *);
static void	 conn_on_timer(void *);
static void	 conn_on_gone(void *);
static void	 conn_on_slow(void *);


struct conn *
conn_new(size_t size, struct event_base *base, int in, int out,
    const struct conn_ops *ops, const struct conn_events *events, void *arg)
{
	struct conn	*c;

	if ((c = calloc(1, size)) == NULL)
		return NULL;
	c->ops = ops;
	c->events = events;
	c->arg = arg;
	c->in = c->out = -1;
	c->is_socket = in == out;
	c->last_life = clock_ms();
	c->allowed = SIZE_MAX;
	buf_init(&c->queue, QUEUE_MAX);
	TAILQ_INIT(&c->sources);
	inflight_init(&c->inflight, 0, LIMIT_INFLIGHT_FIRST,
	    LIMIT_INFLIGHT_MIN);
	io_init(&c->read_ev, base, in, EV_READ | EV_PERSIST, conn_on_read, c);
	io_init(&c->write_ev, base, out, EV_WRITE, conn_on_write, c);
	timer_init(&c->timer_ev, base, conn_on_timer, c);
	timer_init(&c->gone_ev, base, conn_on_gone, c);
	timer_init(&c->slow_ev, base, conn_on_slow, c);
	if (fd_nonblock(in, 1) == -1 ||
	    (!c->is_socket && fd_nonblock(out, 1) == -1) ||
	    io_start(&c->read_ev) == -1) {
		conn_free(&c);
		return NULL;
	}
	c->in = in;
	c->out = out;
	conn_alive(c);
	return c;
}

/* Return how many bytes the peer's kernel, or a pipe, has taken. */
static uint64_t
taken_by_peer(const struct conn *c)
{
	int	 waiting = 0;

	if (c->is_socket && ioctl(c->out, SIOCOUTQ, &waiting) == -1)
		return 0;
	/* With what the kernel needs to hold it, of a Unix socket. */
	return c->flushed > (uint64_t)waiting ?
	    c->flushed - (uint64_t)waiting : 0;
}

/*
 * Stop the events, then close: a descriptor that another process shares would
 * otherwise stay in epoll(7) after close(2).
 */
static void
conn_drop_fds(struct conn *c)
{
	io_stop(&c->read_ev);
	io_stop(&c->write_ev);
	if (!c->is_socket && c->in != -1) {
		/* O_NONBLOCK is shared with others, for example a shell. */
		(void)!fd_nonblock(c->in, 0);
		(void)!fd_nonblock(c->out, 0);
	}
	if (c->out != c->in)
		fd_close(&c->out);
	fd_close(&c->in);
	c->out = -1;
}

/* The first long message is sent; queue what waited for that. */
static void
drop_source(struct conn *c)
{
	struct conn_source	*src = TAILQ_FIRST(&c->sources);

	assert(src != NULL);
	TAILQ_REMOVE(&c->sources, src, entry);
	buf_move(&c->queue, &src->behind);
	src->free(src);
}

void
conn_free(struct conn **cp)
{
	struct conn	*c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	if (c->ops->fini != NULL)
		c->ops->fini(c);
	conn_drop_fds(c);
	timer_stop(&c->timer_ev);
	timer_stop(&c->gone_ev);
	timer_stop(&c->slow_ev);
	while (!TAILQ_EMPTY(&c->sources))
		drop_source(c);
	buf_fini(&c->queue);
	free(c);
}

/* On leaving OPEN tell the owner once. */
static void
conn_set_state(struct conn *c, enum conn_state to, const char *why)
{
	bool		 was_open = c->state == CONN_OPEN;

	assert(to != CONN_OPEN);
	if (to <= c->state)
		return;
	c->state = to;
	if (to == CONN_GONE) {
		conn_drop_fds(c);
		timer_stop(&c->timer_ev);
		timer_fire(&c->gone_ev);
	} else {
		c->seen = taken_by_peer(c);
		timer_set(&c->timer_ev, LINGER_MS);
		/* Read and discard what a socket still sends. */
		if (c->is_socket)
			io_start(&c->read_ev);
		else
			io_stop(&c->read_ev);
	}
	if (was_open)
		c->events->on_end(c->arg, why);
}

static void
conn_on_gone(void *arg)
{
	struct conn	*c = arg;

	assert(c->state == CONN_GONE && c->in == -1 && c->out == -1);
	c->events->on_gone(c->arg, c);
}

void
conn_end(struct conn *c, const char *why)
{
	conn_set_state(c, CONN_GONE, why);
}

void
conn_end_of_input(struct conn *c, const char *why)
{
	if (conn_queued(c) == 0) {
		conn_end(c, why);
		return;
	}
	conn_set_state(c, CONN_ENDING, why);
	conn_flush(c);
}

void
conn_close(struct conn *c, uint16_t code, const char *why)
{
	if (c->state != CONN_OPEN)
		return;
	c->ops->put_close(c, code, why);
	conn_set_state(c, CONN_ENDING, why);
	conn_flush(c);
}

int
conn_fd(const struct conn *c)
{
	assert(c->exact);
	return c->in;
}

void
conn_abandon(struct conn *c)
{
	conn_set_state(c, CONN_GONE, "handed over");
}

void
conn_set_exact(struct conn *c, bool exact)
{
	c->exact = exact;
}

bool
conn_has_long_frame(const struct conn *c)
{
	return c->has_long_frame;
}

bool
conn_may_read(const struct conn *c)
{
	return c->state == CONN_OPEN && (c->holds & ~CONN_HUNGRY) == 0;
}

static void
conn_hold(struct conn *c, enum conn_hold why)
{
	c->holds |= why;
	if (c->state == CONN_OPEN)
		io_stop(&c->read_ev);
}

/*
 * Read again unless there is another reason not to.  Hand out what was read
 * before, from the loop: the caller may be sending.
 */
static void
conn_release(struct conn *c, enum conn_hold why)
{
	if ((c->holds & why) == 0)
		return;
	c->holds &= ~why;
	if (c->state == CONN_OPEN && c->holds == 0) {
		io_start(&c->read_ev);
		io_fire(&c->read_ev);
	}
}

void
conn_pause(struct conn *c, bool paused)
{
	if (paused)
		conn_hold(c, CONN_PAUSED);
	else
		conn_release(c, CONN_PAUSED);
}

size_t
conn_unfinished(const struct conn *c)
{
	return c->ops->unfinished(c);
}

bool
conn_may_hold(struct conn *c, size_t want)
{
	if (conn_unfinished(c) < c->allowed)
		return true;
	if ((c->holds & CONN_HUNGRY) == 0) {
		conn_hold(c, CONN_HUNGRY);
		c->events->on_hungry(c->arg, want);
	}
	return (c->holds & CONN_HUNGRY) == 0;
}

void
conn_allow(struct conn *c, size_t max)
{
	c->allowed = max;
	if ((c->holds & CONN_HUNGRY) == 0)
		return;
	/* Silence during the pause was ours. */
	conn_alive(c);
	if (conn_unfinished(c) < max)
		conn_release(c, CONN_HUNGRY);
}

static void
conn_on_slow(void *arg)
{
	conn_release(arg, CONN_SLOWED);
}

void
conn_slow(struct conn *c, unsigned ms)
{
	if (c->state != CONN_OPEN || (c->holds & CONN_SLOWED) != 0)
		return;
	timer_set(&c->slow_ev, ms);
	conn_hold(c, CONN_SLOWED);
}

void
conn_alive(struct conn *c)
{
	c->last_life = clock_ms();
	c->asked = 0;
	if (c->ops->ask_receipt != NULL && c->state == CONN_OPEN)
		timer_ensure(&c->timer_ev, LIMIT_PEER_PING);
}

void
conn_set_relayed(struct conn *c)
{
	c->relayed = true;
}

/* Whether another client wants the session, so that only messages count. */
static bool
is_contested(const struct conn *c)
{
	return c->relayed && c->asked != 0 && c->patience <= LIMIT_TAKEOVER;
}

void
conn_on_bytes(struct conn *c)
{
	if (!is_contested(c))
		conn_alive(c);
}

/* Return how many bytes the peer's kernel has acknowledged, up to asked_end. */
static uint64_t
seen_by_peer(const struct conn *c)
{
	uint64_t	 seen = taken_by_peer(c);

	return seen < c->asked_end ? seen : c->asked_end;
}

void
conn_probe(struct conn *c, uint64_t ms)
{
	struct conn_source	*src;

	if (c->state != CONN_OPEN || c->ops->ask_receipt == NULL ||
	    (c->asked != 0 && c->patience <= ms))
		return;
	c->asked = clock_ms();
	c->patience = ms;
	src = TAILQ_FIRST(&c->sources);
	c->ops->ask_receipt(c, src != NULL ? src->pos : c->pos, CONN_SOON);
	c->asked_end = c->flushed + c->queue.len;
	c->seen = seen_by_peer(c);
	timer_set(&c->timer_ev, ms);
}

/*
 * Behind a slow line a client may have much to read before our ping.  While its
 * kernel acknowledges bytes up to the ping, give it more time.
 */
static bool
is_reading(struct conn *c)
{
	uint64_t	 seen = seen_by_peer(c);

	if (seen <= c->seen || seen >= c->asked_end)
		return false;
	c->seen = seen;
	timer_set(&c->timer_ev, c->patience);
	return true;
}

/* Whether a client goes on to take what was said before the end. */
static bool
is_taking(struct conn *c)
{
	uint64_t	 taken = taken_by_peer(c);

	if (c->state != CONN_ENDING || taken <= c->seen)
		return false;
	c->seen = taken;
	timer_set(&c->timer_ev, LINGER_MS);
	return true;
}

/* Ping a silent client; end the connection if it did not answer a ping. */
static void
conn_on_timer(void *arg)
{
	struct conn	*c = arg;
	uint64_t	 silent;

	if (c->state != CONN_OPEN) {
		if (!is_taking(c))
			conn_end(c,
			    "the client did not answer the close frame");
		return;
	}
	if (c->asked != 0) {
		if (is_contested(c) || !is_reading(c))
			conn_close(c, 1001,
			    "the client does not answer");
		return;
	}
	silent = clock_ms() - c->last_life;
	if (silent >= LIMIT_PEER_PING) {
		conn_probe(c, LIMIT_PEER_PONG);
		return;
	}
	conn_trim(c);
	timer_set(&c->timer_ev, LIMIT_PEER_PING - silent);
}

static void
conn_on_read(void *arg)
{
	struct conn	*c = arg;

	assert(c->in != -1);
	c->ops->on_input(c);
}

/* --- sending messages --- */

/* Return the buffer for messages sent now. */
static struct buf *
last_queue(struct conn *c)
{
	struct conn_source	*last;

	last = TAILQ_LAST(&c->sources, conn_sources);
	return last != NULL ? &last->behind : &c->queue;
}

/* Reserve n bytes; NULL: the connection has ended for lack of memory. */
static void *
room_in(struct conn *c, struct buf *b, size_t n)
{
	void	*p = NULL;

	if (conn_queued(c) + n > QUEUE_MAX ||
	    (p = buf_reserve(b, n)) == NULL)
		conn_end(c, "out of memory for the connection");
	return p;
}

int
conn_put(struct conn *c, enum conn_place place, const void *data, size_t len)
{
	struct buf	*b = place == CONN_SOON ? &c->queue : last_queue(c);
	void		*p;

	if (c->state > CONN_ENDING)
		return -1;
	assert(!c->in_frame);
	if ((p = room_in(c, b, len)) == NULL)
		return -1;
	memcpy(p, data, len);
	buf_commit(b, len);
	return 0;
}

/* Read no requests from a client that does not read its answers. */
static void
conn_maybe_stall(struct conn *c)
{
	if (conn_behind(c) > LIMIT_OUT_READING)
		conn_hold(c, CONN_STALLED);
}

char *
conn_begin(struct conn *c, size_t len)
{
	size_t	 head = c->ops->head_len(len);
	char	*p;

	assert(!c->in_frame || c->state != CONN_OPEN);
	if (c->state != CONN_OPEN)
		return NULL;
	if ((p = room_in(c, last_queue(c), head + len +
	    c->ops->tail_len(len))) == NULL)
		return NULL;
	c->begun = len;
	return p + head;
}

void
conn_commit(struct conn *c)
{
	struct buf	*b = last_queue(c);
	size_t		 head = c->ops->head_len(c->begun);
	char		*end;

	assert(!c->in_frame);
	end = (char *)buf_data(b) + b->len;
	c->ops->put_head(end, c->begun, true, true);
	c->ops->put_tail(end + head + c->begun);
	buf_commit(b, head + c->begun + c->ops->tail_len(c->begun));
	c->pos += c->begun;
	conn_maybe_stall(c);
}

/* Generate a whole message as one frame, and send it meanwhile. */
static int
write_frame(struct conn *c, struct conn_source *src, size_t len)
{
	struct buf	*b = last_queue(c);
	size_t		 head = c->ops->head_len(len), left, n;
	size_t		 tail = c->ops->tail_len(len);
	char		*p;

	if ((p = room_in(c, b, head + PART)) == NULL)
		return -1;
	c->ops->put_head(p, len, true, true);
	buf_commit(b, head);
	c->in_frame = true;
	for (left = len; left > 0; left -= n) {
		n = left < PART ? left : PART;
		if ((p = room_in(c, b, n + tail)) == NULL)
			return -1;
		src->write(src, p, n);
		buf_commit(b, n);
		if (b == &c->queue && b->len >= PART_FLUSH)
			conn_flush(c);
		if (c->state != CONN_OPEN)
			return -1;
	}
	if ((p = room_in(c, b, tail)) == NULL)
		return -1;
	c->ops->put_tail(p);
	buf_commit(b, tail);
	c->in_frame = false;
	return 0;
}

static void
source_free(struct conn_source *src)
{
	if (src->free != NULL)
		src->free(src);
}

int
conn_send_source(struct conn *c, struct conn_source *src, size_t len)
{
	bool	 is_long = len > LIMIT_OUT_READING;

	assert(len > 0 && !c->in_frame);
	assert(!is_long || src->free != NULL);
	if (c->state == CONN_OPEN && conn_queued(c) + len > QUEUE_MAX)
		conn_end(c, "out of memory for the connection");
	if (c->state != CONN_OPEN ||
	    (!is_long && write_frame(c, src, len) == -1)) {
		source_free(src);
		return -1;
	}
	if (is_long) {
		src->len = src->left = len;
		src->pos = c->pos;
		buf_init(&src->behind, QUEUE_MAX);
		TAILQ_INSERT_TAIL(&c->sources, src, entry);
	} else {
		source_free(src);
	}
	c->pos += len;
	conn_maybe_stall(c);
	return 0;
}

/* A long message that is complete in memory. */
struct text {
	struct conn_source	 src;
	struct buf		 b;
};

static void
text_write(struct conn_source *src, char *at, size_t n)
{
	struct text	*t = (struct text *)src;

	memcpy(at, buf_data(&t->b), n);
	buf_drain(&t->b, n);
}

static void
text_free(struct conn_source *src)
{
	struct text	*t = (struct text *)src;

	buf_fini(&t->b);
	free(t);
}

int
conn_send_buf(struct conn *c, struct buf *b)
{
	struct text	*t;
	size_t		 len = b->len;
	int		 rv;

	if (len <= LIMIT_OUT_READING) {
		rv = conn_send(c, (char *)buf_data(b), len);
		buf_drain(b, len);
		return rv;
	}
	if ((t = calloc(1, sizeof(*t))) == NULL) {
		buf_fini(b);
		conn_end(c, "out of memory for the connection");
		return -1;
	}
	t->src.write = text_write;
	t->src.free = text_free;
	buf_move(&t->b, b);
	return conn_send_source(c, &t->src, len);
}

int
conn_send(struct conn *c, const char *text, size_t len)
{
	struct buf	 b;
	char		*p;

	if (len > LIMIT_OUT_READING) {
		buf_init(&b, len);
		if (buf_put(&b, text, len) == 0)
			return conn_send_buf(c, &b);
		conn_end(c, "out of memory for the connection");
		return -1;
	}
	if ((p = conn_begin(c, len)) == NULL)
		return -1;
	memcpy(p, text, len);
	conn_commit(c);
	return 0;
}

size_t
conn_queued(const struct conn *c)
{
	const struct conn_source	*src;
	size_t				 n = c->queue.len;

	TAILQ_FOREACH(src, &c->sources, entry)
		n += src->left + src->behind.len;
	return n;
}

size_t
conn_behind(const struct conn *c)
{
	const struct conn_source	*src = TAILQ_FIRST(&c->sources);

	return src == NULL ? c->queue.len :
	    conn_queued(c) - c->queue.len - src->left;
}

uint64_t
conn_pos(const struct conn *c)
{
	return c->pos;
}

void
conn_ask_receipt(struct conn *c)
{
	if (c->state == CONN_OPEN && c->ops->ask_receipt != NULL)
		c->ops->ask_receipt(c, c->pos, CONN_IN_TURN);
}

/* --- bulk --- */

/*
 * Without receipts nothing is known of the line.  Behind an uplink, which
 * answers when it has sent what came before, this bounds what waits in between
 * for the stream's share of the line to the rendezvous.
 */
static bool
is_measured(const struct conn *c)
{
	return c->ops->ask_receipt != NULL;
}

bool
conn_has_room(const struct conn *c)
{
	return conn_behind(c) < LIMIT_OUT_CHILDREN &&
	    !(is_measured(c) && inflight_is_full(&c->inflight, c->bulk));
}

size_t
conn_piece(const struct conn *c, size_t max)
{
	return is_measured(c) ? inflight_piece(&c->inflight, max) : max;
}

/* Nothing is queued and more could be, from now on. */
static void
bulk_drained(struct conn *c)
{
	if (is_measured(c) && c->inflight.drained_at == 0 &&
	    c->queue.len == 0)
		inflight_drained(&c->inflight, c->bulk, clock_us());
}

void
conn_sent_bulk(struct conn *c, size_t len)
{
	if (!is_measured(c))
		return;
	inflight_resume(&c->inflight, c->bulk, clock_us());
	c->bulk += len;
}

static void
ask_for_bulk(struct conn *c)
{
	if (c->state != CONN_OPEN || c->in_frame || !is_measured(c) ||
	    !inflight_must_ask(&c->inflight, c->bulk))
		return;
	inflight_ask(&c->inflight, c->bulk, clock_us());
	c->bulk_pos = c->pos;
	c->ops->ask_receipt(c, c->pos, CONN_IN_TURN);
}

void
conn_on_receipt(struct conn *c, uint64_t pos)
{
	if (c->inflight.is_asked && pos >= c->bulk_pos) {
		inflight_answer(&c->inflight, clock_us());
		bulk_drained(c);
	}
	c->events->on_receipt(c->arg, pos);
}

/* --- writing to the kernel --- */

/*
 * Queue the next part of the long message, one in a turn, when little is queued
 * before it.  A part is a frame, so control frames may come between parts.  -1:
 * the connection has ended.
 */
static int
fill_queue(struct conn *c)
{
	struct conn_source	*src = TAILQ_FIRST(&c->sources);
	size_t			 n, head, tail;
	bool			 is_last;
	char			*p;

	if (src == NULL || src->left == 0 || c->queue.len >= LIMIT_FRAGMENT)
		return 0;
	n = src->left < LIMIT_FRAGMENT ? src->left : LIMIT_FRAGMENT;
	is_last = n == src->left;
	head = c->ops->head_len(n);
	tail = is_last ? c->ops->tail_len(src->len) : 0;
	if ((p = buf_reserve(&c->queue, head + n + tail)) == NULL) {
		conn_end(c, "out of memory for the connection");
		return -1;
	}
	c->ops->put_head(p, n, src->left == src->len, is_last);
	src->write(src, p + head, n);
	if (is_last)
		c->ops->put_tail(p + head + n);
	buf_commit(&c->queue, head + n + tail);
	src->left -= n;
	return 0;
}

/* Write what the kernel takes.  Bytes, or -1: the connection has ended. */
static ssize_t
send_queue(struct conn *c)
{
	struct conn_source	*src;
	ssize_t			 n;

	assert(c->queue.len > 0 && c->out != -1);
	do {
		n = c->is_socket ?
		    send(c->out, buf_data(&c->queue), c->queue.len,
		    MSG_NOSIGNAL) :
		    write(c->out, buf_data(&c->queue), c->queue.len);
	} while (n == -1 && errno == EINTR);
	if (n == -1 && errno == EAGAIN)
		return 0;
	if (n == -1) {
		conn_end(c, errno == EPIPE || errno == ECONNRESET ?
		    "the connection was lost" : strerror(errno));
		return -1;
	}
	buf_drain(&c->queue, (size_t)n);
	c->flushed += (uint64_t)n;
	while (c->queue.len == 0 &&
	    (src = TAILQ_FIRST(&c->sources)) != NULL && src->left == 0)
		drop_source(c);
	return n;
}

/* All is written: if the connection is ending, half-close. */
static void
conn_on_drained(struct conn *c)
{
	assert(conn_queued(c) == 0);
	buf_trim(&c->queue, QUEUE_KEEP);
	if (c->state != CONN_ENDING)
		return;
	if (c->is_socket) {
		shutdown(c->out, SHUT_WR);
		conn_set_state(c, CONN_LINGERING, NULL);
	} else {
		conn_set_state(c, CONN_GONE, NULL);
	}
}

void
conn_flush(struct conn *c)
{
	ssize_t	 n;

	ask_for_bulk(c);
	if (c->writing || c->state > CONN_ENDING || fill_queue(c) == -1)
		return;
	if (c->queue.len == 0) {
		if (c->state == CONN_ENDING)
			conn_on_drained(c);
		return;
	}
	if ((n = send_queue(c)) == -1)
		return;
	if (conn_queued(c) > 0) {
		c->writing = true;
		io_start(&c->write_ev);
	} else {
		conn_on_drained(c);
		bulk_drained(c);
		if (c->ops->ask_receipt == NULL && c->state == CONN_OPEN &&
		    !c->in_frame)
			c->events->on_receipt(c->arg, c->pos);
	}
	if (conn_behind(c) < LIMIT_OUT_READING / 2)
		conn_release(c, CONN_STALLED);
	if (n > 0 && c->state == CONN_OPEN && !c->in_frame &&
	    c->ops->on_flushed != NULL)
		c->ops->on_flushed(c);
}

static void
conn_on_write(void *arg)
{
	struct conn	*c = arg;

	assert(c->writing && c->state < CONN_LINGERING);
	c->writing = false;
	conn_flush(c);
}

void
conn_trim(struct conn *c)
{
	buf_trim(&c->queue, 0);
	if (c->ops->trim != NULL)
		c->ops->trim(c);
}
