#include "worker/proc/tail.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/limit.h"
#include "worker/proc/proc.h"

#define TURN_PIECES	4	/* sent in a turn of the loop */

struct tail {
	struct sink		 sink;
	struct retain		*retain;		/* the output */
	unsigned		*total;		/* in the session */
	int			 fd;
	struct io		 read_ev;	/* EOF: the operator left */
	struct io		 write_ev;
	uint64_t		 seq;		/* of the current chunk */
	uint32_t		 at;		/* bytes sent of that */
	uint64_t		 until;		/* first number not shown */
};

static void
tail_free(struct tail *t)
{
	assert(*t->total > 0);
	if (t->sink.sinks != NULL)
		sink_remove(&t->sink);
	(*t->total)--;
	io_stop(&t->read_ev);
	io_stop(&t->write_ev);
	fd_close(&t->fd);
	free(t);
}

/* Operators send nothing: input is EOF. */
static void
tail_on_read(void *arg)
{
	struct tail	*t = arg;

	assert(t->fd != -1);
	tail_free(t);
}

/* Find the current chunk, which may have grown, or the next one. */
static const struct chunk *
next_chunk(struct tail *t)
{
	struct retain		*r = t->retain;
	const struct chunk	*c = retain_after(r, t->seq > 0 ? t->seq - 1 :
				    0);

	if (c != NULL && c->seq == t->seq && t->at >= c->len)
		c = retain_after(r, t->seq);
	if (c == NULL || c->seq >= t->until)
		return NULL;
	if (c->seq != t->seq) {
		t->seq = c->seq;
		t->at = 0;
	}
	return c;
}

static const Ipc__TailStream	 tail_streams[] = {
	[STREAM_STDOUT] = IPC__TAIL_STREAM__OUTPUT,
	[STREAM_STDERR] = IPC__TAIL_STREAM__ERRORS,
	[STREAM_PTY] = IPC__TAIL_STREAM__TERMINAL
};

static int
put_piece(struct tail *t, const struct chunk *c)
{
	Ipc__TailPiece	 out = IPC__TAIL_PIECE__INIT;

	out.seq = c->seq;
	out.stream = tail_streams[c->stream];
	out.data.data = (uint8_t *)(uintptr_t)c->data + t->at;
	out.data.len = c->len - t->at;
	if (ipc_send(t->fd, IPC_tail_piece, &out, -1) == -1)
		return -1;
	t->at = c->len;
	return 0;
}

static void
on_write(void *arg)
{
	struct tail		*t = arg;
	const struct chunk	*c;
	int			 i;

	assert(t->fd != -1);
	for (i = 0; i < TURN_PIECES; i++) {
		if ((c = next_chunk(t)) == NULL) {
			if (t->until != UINT64_MAX)
				tail_free(t);
			return;
		}
		if (put_piece(t, c) == 0)
			continue;
		if (errno == EAGAIN)
			break;
		tail_free(t);
		return;
	}
	io_start(&t->write_ev);
}

static void
tail_on_output(struct sink *k, const struct output *o)
{
	struct tail	*t = (struct tail *)k;

	(void)o;
	io_start(&t->write_ev);
}

static void
tail_on_close(struct sink *k)
{
	struct tail	*t = (struct tail *)k;

	if (t->until == UINT64_MAX)
		t->until = t->retain->next_seq;
	io_start(&t->write_ev);
}

static void
tail_on_renumber(struct sink *k, uint64_t after, uint64_t by)
{
	struct tail	*t = (struct tail *)k;

	if (t->seq > after)
		t->seq = t->seq - after > by ? t->seq - by : after;
	if (t->until != UINT64_MAX && t->until > after)
		t->until = t->until - after > by ? t->until - by : after;
}

static void
tail_on_gone(struct sink *k)
{
	tail_free((struct tail *)k);
}

static const struct sink_ops	 tail_ops = {
	.on_output = tail_on_output,
	.on_close = tail_on_close,
	.on_renumber = tail_on_renumber,
	.on_gone = tail_on_gone,
};

int
tail_add(struct proc *p, unsigned *total, int fd, bool follow)
{
	struct event_base	*base = p->procs->env->base;
	struct tail		*t;

	if (*total >= LIMIT_TAILS) {
		errno = EMFILE;
		return -1;
	}
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return -1;
	t->retain = &p->retain;
	t->total = total;
	t->fd = -1;
	t->until = follow && p->state != PROC_CLOSED ? UINT64_MAX :
	    p->retain.next_seq;
	sink_add(&p->sinks, &t->sink, &tail_ops);
	(*total)++;
	io_init(&t->read_ev, base, fd, EV_READ, tail_on_read, t);
	io_init(&t->write_ev, base, fd, EV_WRITE, on_write, t);
	if (fd_nonblock(fd, 1) == -1 || io_start(&t->read_ev) == -1 ||
	    io_start(&t->write_ev) == -1) {
		tail_free(t);
		errno = ENOMEM;
		return -1;
	}
	t->fd = fd;
	return 0;
}
