#include "worker/conn_priv.h"

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
#define QUEUE_KEEP	(256 * 1024)	/* memory kept between two turns */
#define PART_FLUSH	(128 * 1024)	/* bytes of a long message */
#define LINGER_MS	1000		/* for the client's answer to a close */

static void	 conn_on_read(int, short, void *);
static void	 conn_on_write(int, short, void *);
static void	 conn_on_timer(int, short, void *);
static void	 conn_on_gone(int, short, void *);

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
	buf_init(&c->queue, QUEUE_MAX);
	c->read_ev = event_new(base, in, EV_READ | EV_PERSIST, conn_on_read,
	    c);
	c->write_ev = event_new(base, out, EV_WRITE, conn_on_write, c);
	c->timer_ev = event_new(base, -1, 0, conn_on_timer, c);
	c->gone_ev = event_new(base, -1, 0, conn_on_gone, c);
	if (c->read_ev == NULL || c->write_ev == NULL ||
	    c->timer_ev == NULL || c->gone_ev == NULL ||
	    fd_nonblock(in, 1) == -1 || fd_nonblock(out, 1) == -1 ||
	    event_add(c->read_ev, NULL) == -1) {
		conn_free(&c);
		return NULL;
	}
	c->in = in;
	c->out = out;
	conn_alive(c);
	return c;
}

static void
event_drop(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

/* Close the descriptors; events first, see notes/feasibility.md section 2. */
static void
conn_drop_fds(struct conn *c)
{
	event_drop(&c->read_ev);
	event_drop(&c->write_ev);
	if (!c->is_socket && c->in != -1) {
		/* Others have these open as well, a terminal's shell say. */
		(void)!fd_nonblock(c->in, 0);
		(void)!fd_nonblock(c->out, 0);
	}
	if (c->out != c->in)
		fd_close(&c->out);
	fd_close(&c->in);
	c->out = -1;
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
	event_drop(&c->timer_ev);
	event_drop(&c->gone_ev);
	buf_fini(&c->queue);
	free(c);
}

/* ENDING and beyond: tell the owner once that no more will come or go. */
static void
conn_set_state(struct conn *c, enum conn_state to, const char *why)
{
	struct timeval	 linger = clock_timeval(LINGER_MS);
	bool		 was_open = c->state == CONN_OPEN;

	if (to <= c->state)
		return;
	c->state = to;
	if (to == CONN_GONE) {
		conn_drop_fds(c);
		event_del(c->timer_ev);
		event_active(c->gone_ev, EV_TIMEOUT, 0);
	} else {
		event_add(c->timer_ev, &linger);
		/* A socket may have more to say, which is thrown away. */
		if (c->is_socket)
			event_add(c->read_ev, NULL);
		else
			event_del(c->read_ev);
	}
	if (was_open)
		c->events->on_end(c->arg, why);
}

static void
conn_on_gone(int fd, short what, void *arg)
{
	struct conn	*c = arg;

	(void)fd;
	(void)what;
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
	if (c->queue.len == 0) {
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
	c->ops->put_close(c, code);
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
	if (c->ops->on_exact != NULL)
		c->ops->on_exact(c, exact);
}

bool
conn_may_read(const struct conn *c)
{
	return c->state == CONN_OPEN && !c->paused && !c->stalled;
}

static void
conn_want_input(struct conn *c, bool want)
{
	if (c->read_ev == NULL || c->state > CONN_OPEN)
		return;
	if (want)
		event_add(c->read_ev, NULL);
	else
		event_del(c->read_ev);
}

/*
 * Hand out what was read already, from the loop: the caller may be in the
 * middle of an answer.
 */
static void
conn_go_on(struct conn *c)
{
	if (conn_may_read(c))
		event_active(c->read_ev, EV_READ, 0);
}

void
conn_pause(struct conn *c, bool paused)
{
	bool	 was = c->paused;

	c->paused = paused;
	conn_want_input(c, conn_may_read(c));
	if (was)
		conn_go_on(c);
}

void
conn_alive(struct conn *c)
{
	struct timeval	 tv;

	c->last_life = clock_ms();
	c->asked = 0;
	if (c->ops->ask_receipt != NULL && c->state == CONN_OPEN &&
	    !event_pending(c->timer_ev, EV_TIMEOUT, NULL)) {
		tv = clock_timeval(LIMIT_PEER_PING);
		event_add(c->timer_ev, &tv);
	}
}

/* How much of what was sent the other side's kernel has, at most asked_end. */
static uint64_t
seen_by_peer(const struct conn *c)
{
	uint64_t	 seen;
	int		 waiting = 0;

	if (ioctl(c->out, SIOCOUTQ, &waiting) == -1)
		return 0;
	seen = c->flushed - (uint64_t)waiting;
	return seen < c->asked_end ? seen : c->asked_end;
}

void
conn_probe(struct conn *c, uint64_t ms)
{
	struct timeval	 tv = clock_timeval(ms);

	if (c->state != CONN_OPEN || c->ops->ask_receipt == NULL ||
	    (c->asked != 0 && c->patience <= ms))
		return;
	c->asked = clock_ms();
	c->patience = ms;
	c->ops->ask_receipt(c);
	c->asked_end = c->flushed + c->queue.len;
	c->seen = seen_by_peer(c);
	event_add(c->timer_ev, &tv);
}

/*
 * A client on a slow line may have much to read before it comes to our
 * question.  As long as its side of the connection takes bytes, up to the
 * question and no further, it gets more time.
 */
static bool
is_reading(struct conn *c)
{
	struct timeval	 tv = clock_timeval(c->patience);
	uint64_t	 seen = seen_by_peer(c);

	if (seen <= c->seen || seen >= c->asked_end)
		return false;
	c->seen = seen;
	event_add(c->timer_ev, &tv);
	return true;
}

/* Ask a silent client for a sign of life; give up on one that owes it. */
static void
conn_on_timer(int fd, short what, void *arg)
{
	struct conn	*c = arg;
	struct timeval	 tv;
	uint64_t	 silent;

	(void)fd;
	(void)what;
	if (c->state != CONN_OPEN) {
		conn_end(c, "no answer to the close");
		return;
	}
	if (c->asked != 0) {
		if (!is_reading(c))
			conn_close(c, 1001,
			    "the client gives no sign of life");
		return;
	}
	silent = clock_ms() - c->last_life;
	if (silent >= LIMIT_PEER_PING) {
		conn_probe(c, LIMIT_PEER_PONG);
		return;
	}
	conn_trim(c);
	tv = clock_timeval(LIMIT_PEER_PING - silent);
	event_add(c->timer_ev, &tv);
}

static void
conn_on_read(int fd, short what, void *arg)
{
	struct conn	*c = arg;

	(void)fd;
	(void)what;
	c->ops->on_input(c);
}

int
conn_put(struct conn *c, const void *data, size_t len)
{
	if (c->state > CONN_ENDING)
		return -1;
	if (buf_put(&c->queue, data, len) == -1) {
		conn_end(c, "out of memory for the connection");
		return -1;
	}
	return 0;
}

/* A client that does not read its answers may not ask for more. */
static void
conn_maybe_stall(struct conn *c)
{
	if (c->queue.len <= LIMIT_OUT_READING || c->stalled)
		return;
	c->stalled = true;
	conn_want_input(c, false);
}

char *
conn_begin(struct conn *c, size_t len)
{
	size_t	 head = c->ops->head_len(len);
	char	*p;

	if (c->state != CONN_OPEN)
		return NULL;
	if ((p = buf_reserve(&c->queue, head + len +
	    c->ops->tail_len(len))) == NULL) {
		conn_end(c, "out of memory for the connection");
		return NULL;
	}
	c->begun = len;
	return p + head;
}

void
conn_commit(struct conn *c)
{
	size_t	 head = c->ops->head_len(c->begun);
	char	*end;

	end = (char *)buf_data(&c->queue) + c->queue.len;
	c->ops->put_head(end, c->begun);
	c->ops->put_tail(end + head + c->begun);
	buf_commit(&c->queue, head + c->begun + c->ops->tail_len(c->begun));
	c->pos += c->begun;
	conn_maybe_stall(c);
}

int
conn_start(struct conn *c, size_t len)
{
	size_t	 head = c->ops->head_len(len);
	char	*p;

	if ((p = conn_part(c, head)) == NULL)
		return -1;
	c->ops->put_head(p, len);
	buf_commit(&c->queue, head);
	c->begun = len;
	return 0;
}

char *
conn_part(struct conn *c, size_t n)
{
	char	*p;

	if (c->state != CONN_OPEN)
		return NULL;
	if ((p = buf_reserve(&c->queue, n)) == NULL)
		conn_end(c, "out of memory for the connection");
	return p;
}

void
conn_part_done(struct conn *c, size_t n)
{
	buf_commit(&c->queue, n);
	if (c->queue.len >= PART_FLUSH)
		conn_flush(c);
}

void
conn_finish(struct conn *c)
{
	char	*p;

	if ((p = conn_part(c, c->ops->tail_len(c->begun))) == NULL)
		return;
	c->ops->put_tail(p);
	buf_commit(&c->queue, c->ops->tail_len(c->begun));
	c->pos += c->begun;
	conn_maybe_stall(c);
}

int
conn_send(struct conn *c, const char *text, size_t len)
{
	char	*p;

	if (len > LIMIT_FRAME && c->ops->send_long != NULL) {
		if (c->ops->send_long(c, text, len) == -1)
			return -1;
		c->pos += len;
		conn_maybe_stall(c);
		return 0;
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
	return c->queue.len;
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
		c->ops->ask_receipt(c);
}

/* Everything is sent: what an open or an ending connection makes of it. */
static void
conn_on_drained(struct conn *c)
{
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

	if (c->writing || c->state > CONN_ENDING)
		return;
	if (c->queue.len == 0) {
		if (c->state == CONN_ENDING)
			conn_on_drained(c);
		return;
	}
	do {
		n = c->is_socket ?
		    send(c->out, buf_data(&c->queue), c->queue.len,
		    MSG_NOSIGNAL) :
		    write(c->out, buf_data(&c->queue), c->queue.len);
	} while (n == -1 && errno == EINTR);
	if (n == -1 && errno != EAGAIN) {
		conn_end(c, errno == EPIPE || errno == ECONNRESET ?
		    "the client is gone" : strerror(errno));
		return;
	}
	if (n > 0) {
		buf_drain(&c->queue, (size_t)n);
		c->flushed += (uint64_t)n;
	}
	if (c->queue.len > 0) {
		c->writing = true;
		event_add(c->write_ev, NULL);
	} else {
		conn_on_drained(c);
		if (c->ops->ask_receipt == NULL && c->state == CONN_OPEN)
			c->events->on_receipt(c->arg, c->pos);
	}
	if (c->stalled && c->queue.len < LIMIT_OUT_READING / 2) {
		c->stalled = false;
		conn_want_input(c, conn_may_read(c));
		conn_go_on(c);
	}
	if (n > 0 && c->state == CONN_OPEN && c->ops->on_flushed != NULL)
		c->ops->on_flushed(c);
}

static void
conn_on_write(int fd, short what, void *arg)
{
	struct conn	*c = arg;

	(void)fd;
	(void)what;
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
