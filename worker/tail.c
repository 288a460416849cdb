#include "worker/tail.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/limit.h"

#define TURN_PIECES	4	/* sent in one turn of the loop */

struct tail {
	TAILQ_ENTRY(tail)	 entry;
	struct tails		*tails;
	int			 fd;
	struct io		 read_ev;	/* the operator left */
	struct io		 write_ev;
	uint64_t		 seq;		/* of the chunk it is in */
	uint32_t		 at;		/* bytes of that it has */
	uint64_t		 until;		/* the first not shown */
};

static void
tail_free(struct tail *t)
{
	TAILQ_REMOVE(&t->tails->list, t, entry);
	(*t->tails->total)--;
	io_stop(&t->read_ev);
	io_stop(&t->write_ev);
	fd_close(&t->fd);
	free(t);
}

/* An operator says nothing: this is the end of it. */
static void
on_read(void *arg)
{
	tail_free(arg);
}

/* Where to go on; the chunk that it is in may have grown (ring_append()). */
static const struct chunk *
next_chunk(struct tail *t)
{
	struct ring		*r = t->tails->ring;
	const struct chunk	*c = ring_after(r, t->seq > 0 ? t->seq - 1 :
				    0);

	if (c != NULL && c->seq == t->seq && t->at >= c->len)
		c = ring_after(r, t->seq);
	if (c == NULL || c->seq >= t->until)
		return NULL;
	if (c->seq != t->seq) {
		t->seq = c->seq;
		t->at = 0;
	}
	return c;
}

static int
put_piece(struct tail *t, const struct chunk *c)
{
	Ipc__TailPiece	 out = IPC__TAIL_PIECE__INIT;

	out.seq = c->seq;
	out.stream = (char *)(uintptr_t)ring_stream_name(c->stream);
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

	for (i = 0; i < TURN_PIECES; i++) {
		if ((c = next_chunk(t)) == NULL) {
			if (t->until != UINT64_MAX || t->tails->is_over)
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

void
tails_init(struct tails *ts, struct event_base *base, struct ring *ring,
    unsigned *total)
{
	TAILQ_INIT(&ts->list);
	ts->base = base;
	ts->ring = ring;
	ts->total = total;
	ts->is_over = false;
}

int
tails_add(struct tails *ts, int fd, bool follow)
{
	struct tail	*t;

	if (*ts->total >= LIMIT_TAILS) {
		errno = EMFILE;
		return -1;
	}
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return -1;
	t->tails = ts;
	t->fd = -1;
	t->until = follow ? UINT64_MAX : ts->ring->next_seq;
	TAILQ_INSERT_TAIL(&ts->list, t, entry);
	(*ts->total)++;
	io_init(&t->read_ev, ts->base, fd, EV_READ, on_read, t);
	io_init(&t->write_ev, ts->base, fd, EV_WRITE, on_write, t);
	if (fd_nonblock(fd, 1) == -1 || io_start(&t->read_ev) == -1 ||
	    io_start(&t->write_ev) == -1) {
		tail_free(t);
		errno = ENOMEM;
		return -1;
	}
	t->fd = fd;
	return 0;
}

void
tails_renumber(struct tails *ts, uint64_t after, uint64_t by)
{
	struct tail	*t;

	TAILQ_FOREACH(t, &ts->list, entry) {
		if (t->seq > after)
			t->seq = t->seq - after > by ? t->seq - by : after;
		if (t->until != UINT64_MAX && t->until > after)
			t->until = t->until - after > by ? t->until - by :
			    after;
	}
}

void
tails_wake(struct tails *ts)
{
	struct tail	*t;

	TAILQ_FOREACH(t, &ts->list, entry)
		io_start(&t->write_ev);
}

void
tails_end(struct tails *ts)
{
	ts->is_over = true;
	tails_wake(ts);
}

void
tails_fini(struct tails *ts)
{
	struct tail	*t;

	while ((t = TAILQ_FIRST(&ts->list)) != NULL)
		tail_free(t);
}
