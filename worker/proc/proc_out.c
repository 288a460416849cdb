/* Output of processes: reading, holding back, pacing. */
#include "worker/proc/proc.h"
#include "worker/proc/proc_priv.h"

#include <sys/ioctl.h>
#include <sys/timerfd.h>

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/trick.h"

/*
 * Pacing: a process that writes single lines would wake us for each.  After
 * PACE_STREAK short reads within PACE_US of each other pause reading
 * (start_pause()), so that the pipe fills.  Output after input is an answer and
 * never delayed.
 * A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#define PACE_STREAK	8
#define PACE_US		200
#define PACE_SHORT	8192		/* a read of fewer bytes is short */

/*
 * A read of a terminal returns at most 4095 bytes.  From this size on more may
 * be there, and nobody is waiting for it.
 */
#define TERMINAL_FULL	2048

#define BULKY		(LIMIT_READ_CHUNK / 2)
#define READ_TRIES	10	/* after failed reads */
#define PACE_NS		400000	/* length of a pause */
#define WIDE_AFTER	4		/* full reads, then a larger pipe */
#define TURN_READS	4		/* as much as that holds */
#define SPOOL_CHUNK	4096		/* size of chunks while detached */
#define EVICT_MS	1000	/* between evictions */

static void	 stream_on_read(void *);

void
proc_stream_end(struct stream *st)
{
	io_stop(&st->read_ev);
	/* Nothing must restart it. */
	st->held = st->paced = false;
	st->streak = 0;
	fd_close(&st->fd);
}

/* --- room --- */

static bool
proc_out_has_room(const struct proc *p)
{
	return !sinks_full(&p->sinks) &&
	    p->procs->events->has_room(p->procs->arg, p);
}

static void
unhold(struct proc *p)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		if (!p->streams[i].held)
			continue;
		if (!proc_out_has_room(p)) {
			p->procs->is_held = true;
			return;
		}
		p->streams[i].held = false;
		io_start(&p->streams[i].read_ev);
	}
}

void
procs_unhold(struct procs *ps)
{
	struct proc	*p;

	if (!ps->is_held)
		return;
	ps->is_held = false;
	TAILQ_FOREACH(p, &ps->all, entry)
		unhold(p);
}

void
proc_hold(struct proc *p, bool is_held)
{
	p->is_held = is_held;
	if (!is_held)
		unhold(p);
}

/* --- after a resume --- */

void
procs_on_client(struct procs *ps, bool holds)
{
	struct proc	*p;

	ps->has_client = true;
	ps->client_since = clock_ms();
	/* Held-back output can go to the client. */
	ps->is_held = true;
	TAILQ_FOREACH(p, &ps->all, entry) {
		p->retain.catching_up = true;
		p->caught_up = 0;
		p->is_held = holds;
	}
}

void
procs_on_client_lost(struct procs *ps)
{
	ps->has_client = false;
}

void
procs_release_unread(struct procs *ps)
{
	struct proc	*p;

	TAILQ_FOREACH(p, &ps->all, entry)
		if (p->caught_up == 0)
			proc_hold(p, false);
}

void
proc_was_read(struct proc *p)
{
	p->asked_at = clock_ms();
	if (!p->retain.catching_up || p->caught_up != 0)
		return;
	p->caught_up = p->asked_at;
	timer_ensure(&p->procs->evict_ev, EVICT_MS);
}

/*
 * Stop keeping what was read LIMIT_CAUGHT_UP ago: the stock client asks again
 * from the same place when its queue overflows.  Whether it was.
 */
static bool
end_catch_up(struct proc *p)
{
	if (!p->retain.catching_up || p->caught_up == 0)
		return false;
	if (clock_ms() - p->caught_up < LIMIT_CAUGHT_UP) {
		timer_ensure(&p->procs->evict_ev, EVICT_MS);
		return false;
	}
	p->retain.catching_up = false;
	retain_evict(&p->retain);
	return true;
}

/* By a timer, as there may be no more output. */
static void
on_evict(void *arg)
{
	struct procs	*ps = arg;
	struct proc	*p;
	bool		 ended = false;

	TAILQ_FOREACH(p, &ps->all, entry)
		ended |= end_catch_up(p);
	if (ended)
		malloc_trim(0);
}

/* --- pacing --- */

static void
unpace(struct proc *p)
{
	int	 i;

	/* Keep paced set: the next read continues the streak. */
	for (i = 0; i < 2; i++)
		if (p->streams[i].paced && !p->streams[i].held)
			io_start(&p->streams[i].read_ev);
}

static void
on_pause_end(void *arg)
{
	struct procs	*ps = arg;
	struct proc	*p;
	uint64_t	 expired;

	if (read(ps->pace_fd, &expired, sizeof(expired)) == -1)
		return;
	TAILQ_FOREACH(p, &ps->all, entry)
		unpace(p);
}

/* Pause all paced streams.  0, or -1: not possible. */
static int
start_pause(struct procs *ps)
{
	struct itimerspec	 t;

	memset(&t, 0, sizeof(t));
	t.it_value.tv_nsec = PACE_NS;
	if (ps->pace_fd == -1) {
		/* A timerfd: libevent's timers count milliseconds. */
		if ((ps->pace_fd = timerfd_create(CLOCK_MONOTONIC,
		    TFD_CLOEXEC | TFD_NONBLOCK)) == -1)
			return -1;
		io_init(&ps->pace_ev, ps->env->base, ps->pace_fd,
		    EV_READ | EV_PERSIST, on_pause_end, ps);
		if (io_start(&ps->pace_ev) == -1) {
			fd_close(&ps->pace_fd);
			return -1;
		}
	}
	return timerfd_settime(ps->pace_fd, 0, &t, NULL);
}

/* Pause the stream if it delivers many short reads. */
static void
pace(struct stream *st, size_t n)
{
	uint64_t	 now = clock_us();
	bool		 is_near = now - st->last_read < PACE_US;

	assert(n > 0);
	st->last_read = now;
	st->streak = n < (st->stream == STREAM_PTY ? TERMINAL_FULL :
	    PACE_SHORT) && (is_near || st->paced) ? st->streak + 1 : 0;
	st->paced = false;
	if (HAS_TRICK(pacing) && st->streak >= PACE_STREAK && st->fd != -1 &&
	    start_pause(st->proc->procs) == 0) {
		st->paced = true;
		io_stop(&st->read_ev);
	}
}

void
proc_on_input(struct proc *p)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		p->streams[i].streak = 0;
		if (!p->streams[i].paced)
			continue;
		p->streams[i].paced = false;
		if (!p->streams[i].held)
			io_start(&p->streams[i].read_ev);
	}
}

/* --- reading --- */

/* Add a chunk with n bytes from data, or already in the chunk. */
static void
add_output(struct stream *st, struct chunk *c, const char *data, size_t n)
{
	struct proc	*p = st->proc;
	struct procs	*ps = p->procs;
	struct output	 o = { st->stream, data, n, NULL };

	assert(n > 0 && p->state != PROC_CLOSED);
	if (p->is_internal) {
		assert(c == NULL);
		sinks_output(&p->sinks, &o);
		return;
	}
	p->bytes_out += n;
	ps->bytes_out += n;
	if (c == NULL) {
		if (!ps->has_client &&
		    retain_append(&p->retain, st->stream, data, n)) {
			sinks_output(&p->sinks, &o);
			return;
		}
		if ((c = window_chunk(ps->window, !ps->has_client &&
		    n < SPOOL_CHUNK ? SPOOL_CHUNK : n)) == NULL) {
			/* A gap in the numbers would block the client. */
			fatal("cannot keep output");
		}
		window_fill(ps->window, c, data, n);
	}
	c->len = (uint32_t)n;
	retain_add(&p->retain, c, st->stream);
	o.data = c->data;
	o.chunk = c;
	sinks_output(&p->sinks, &o);
	retain_evict(&p->retain);
}

/* read(2), for a terminal repeated until it is empty. */
static ssize_t
proc_out_take(const struct stream *st, void *to, size_t size)
{
	ssize_t	 n, len;

	assert(st->fd != -1 && size > 0);
	len = n = read(st->fd, to, size);
	while (st->stream == STREAM_PTY && n >= TERMINAL_FULL &&
	    (size_t)len < size && (n = read(st->fd, (char *)to + len,
	    size - (size_t)len)) > 0)
		len += n;
	return len;
}

/* Say that the rest is lost, like retain_close_gap(). */
static void
report_read_error(struct stream *st, int error)
{
	struct proc	*p = st->proc;
	const char	*line = st->stream == STREAM_PTY ? "\r\n" : "\n";
	char		 text[200];
	int		 n;

	assert(error != 0 && st->fd != -1);
	p->lost = error;
	log_warnx("process %d: reading its %s: %s", p->pid,
	    retain_stream_name(st->stream), strerror(error));
	n = snprintf(text, sizeof(text), "%s[execsrv: the rest of this output "
	    "could not be read: %s]%s", line, strerror(error), line);
	add_output(st, NULL, text, (size_t)n);
}

/* Retry or give up after a failed read.  As proc_out_read_some(). */
static ssize_t
proc_out_on_failure(struct stream *st)
{

	if (errno == EAGAIN || errno == EINTR)
		return -1;
	if (st->stream == STREAM_PTY && errno == EIO)
		return 0;		/* EIO is the EOF of a terminal */
	if (++st->failed < READ_TRIES)
		return -1;
	report_read_error(st, errno);
	return 0;
}

/*
 * Read once, up to size.  Large reads go to a chunk directly, small ones
 * through a buffer, so that chunks have no spare room.  Bytes, 0 at EOF, or -1:
 * nothing now.
 */
static ssize_t
proc_out_read_some(struct stream *st, size_t size)
{
	static char	 common[LIMIT_READ_CHUNK];
	struct window	*w = st->proc->procs->window;
	struct chunk	*c = NULL;
	ssize_t		 n;

	assert(size > 0 && size <= sizeof(common));
	if (st->bulky && !st->proc->is_internal &&
	    window_has_memory(w, size) && (c = chunk_new(size)) != NULL)
		n = proc_out_take(st, c->data, size);
	else
		n = proc_out_take(st, common, size);
	if (n <= 0) {
		free(c);
		return n == 0 ? 0 : proc_out_on_failure(st);
	}
	st->failed = 0;
	st->bulky = n >= BULKY;
	st->full = n == LIMIT_READ_CHUNK ? st->full + 1 : 0;
	if (st->full == WIDE_AFTER)
		fd_widen(st->fd);
	if (c != NULL && !st->bulky) {
		memcpy(common, c->data, (size_t)n);
		free(c);
		c = NULL;
	}
	add_output(st, c, common, (size_t)n);
	return n;
}

/* One read.  Whether more is there to be read in this turn of the loop. */
static bool
stream_read(struct stream *st)
{
	struct proc	*p = st->proc;
	ssize_t		 n;

	if (!proc_out_has_room(p)) {
		st->held = true;
		p->procs->is_held = true;
		io_stop(&st->read_ev);
		return false;
	}
	if ((n = proc_out_read_some(st,
	    p->procs->events->read_size(p->procs->arg))) == 0) {
		proc_stream_end(st);
		proc_maybe_close(p);
		return false;
	}
	if (n > 0)
		pace(st, (size_t)n);
	return n == LIMIT_READ_CHUNK && st->fd != -1;
}

static void
stream_on_read(void *arg)
{
	struct stream	*st = arg;
	int		 reads = 1;

	assert(st->fd != -1 && !st->held);
	while (stream_read(st) && reads < TURN_READS)
		reads++;
}

void
proc_drain(struct proc *p)
{
	int	 i, reads;

	for (i = 0; i < 2; i++)
		for (reads = 0; reads < 2 && p->streams[i].fd != -1; reads++)
			if (proc_out_read_some(&p->streams[i],
			    LIMIT_READ_CHUNK) <= 0)
				break;
}

/* --- the streams --- */

int
proc_stream_init(struct stream *st, struct proc *p, int fd, uint8_t stream)
{
	assert(st->fd == -1 && stream <= STREAM_PTY);
	st->proc = p;
	st->stream = stream;
	st->fd = fd;
	if (fd == -1)
		return 0;
	io_init(&st->read_ev, p->procs->env->base, fd, EV_READ | EV_PERSIST,
	    stream_on_read, st);
	return io_start(&st->read_ev);
}

void
procs_out_init(struct procs *ps)
{
	ps->pace_fd = -1;
	timer_init(&ps->evict_ev, ps->env->base, on_evict, ps);
}

void
procs_out_fini(struct procs *ps)
{
	timer_stop(&ps->evict_ev);
	io_stop(&ps->pace_ev);
	fd_close(&ps->pace_fd);
}

int
proc_resize(struct proc *p, uint16_t rows, uint16_t cols)
{
	struct winsize	 size;

	memset(&size, 0, sizeof(size));
	size.ws_row = rows;
	size.ws_col = cols;
	if (!p->tty) {
		errno = ENOTTY;
		return -1;
	}
	if (p->streams[0].fd == -1)
		return 0;		/* it has exited: no error */
	if (ioctl(p->streams[0].fd, TIOCSWINSZ, &size) == -1)
		return -1;
	sinks_resize(&p->sinks, rows, cols);
	return 0;
}
