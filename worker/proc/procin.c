#include "worker/proc/procin.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"

#define QUEUE_KEEP	4096		/* memory kept while empty */
/*
 * As long as the reader keeps up, what is queued fits the cache of a processor.
 * Otherwise a write is accepted after so many ms, up to LIMIT_STDIN_QUEUE: it
 * may be that nobody reads before the client has been answered.
 */
#define PATIENCE	20

struct write_id {
	TAILQ_ENTRY(write_id)	 entry;
	struct map_node		 node;
	char			 id[];
};

static void	 procin_on_write(void *);
static void	 procin_on_patience(void *);

void
procin_init(struct procin *in, struct event_base *base, int fd, bool is_tty,
    size_t *parked_total, void (*on_room)(void *, struct rpc_req *),
    void *arg)
{
	memset(in, 0, sizeof(*in));
	in->fd = -1;
	in->is_tty = is_tty;
	in->parked_total = parked_total;
	in->on_room = on_room;
	in->arg = arg;
	buf_init(&in->queue, LIMIT_STDIN_QUEUE);
	in->queue_max = LIMIT_STDIN_READ;
	timer_init(&in->patience, base, procin_on_patience, in);
	TAILQ_INIT(&in->parked);
	TAILQ_INIT(&in->id_order);
	map_init(&in->ids);
	if (fd != -1)
		io_init(&in->write_ev, base, fd, EV_WRITE, procin_on_write, in);
	in->fd = fd;
}

static void
id_drop(struct procin *in, struct write_id *w)
{
	assert(in->nids > 0);
	map_del(&in->ids, &w->node);
	TAILQ_REMOVE(&in->id_order, w, entry);
	in->nids--;
	free(w);
}

/* Remove a parked write and answer its request. */
static void
procin_unpark(struct procin *in, struct parked *p)
{
	struct rpc_req	*req = p->req;

	assert(*in->parked_total >= p->len);
	*in->parked_total -= p->len;
	free(p);
	if (req != NULL)
		in->on_room(in->arg, req);
}

static void
close_fd(struct procin *in)
{
	io_stop(&in->write_ev);
	fd_close(&in->fd);
}

void
procin_fini(struct procin *in)
{
	struct write_id	*w;

	procin_discard(in);
	while ((w = TAILQ_FIRST(&in->id_order)) != NULL)
		id_drop(in, w);
	map_fini(&in->ids);
}

/* Write what the reader takes; bytes, or -1: closed. */
static ssize_t
procin_push(struct procin *in, const char *data, size_t len)
{
	size_t	 done = 0;
	ssize_t	 n;

	assert(in->fd != -1);
	while (done < len) {
		n = write(in->fd, data + done, len - done);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n <= 0)
			return -1;
		done += (size_t)n;
		if (done < len)
			break;			/* the pipe is full */
	}
	in->written += done;
	return (ssize_t)done;
}

/* Write the queue as far as the reader takes it. */
static void
push_queue(struct procin *in)
{
	ssize_t	 n;

	if ((n = procin_push(in, (char *)buf_data(&in->queue),
	    in->queue.len)) == -1)
		procin_discard(in);
	else
		buf_drain(&in->queue, (size_t)n);
}

/* Enlarge the pipe after it was full. */
static void
widen(struct procin *in)
{
	assert(in->fd != -1);
	if (in->is_wide || in->is_tty)
		return;
	in->is_wide = true;
	fd_widen(in->fd);
}

static bool
queue_has_room(const struct procin *in, size_t len)
{
	return in->queue.len == 0 || in->queue.len + len <= in->queue_max;
}

/* Write, queue the rest; -1: no room. */
static int
procin_take(struct procin *in, const char *data, size_t len)
{
	ssize_t	 n = 0;

	if (in->queue.len > 0)
		push_queue(in);		/* there may be room by now */
	if (in->fd == -1 || len == 0)
		return 0;		/* closed: accept and discard */
	if (!queue_has_room(in, len)) {
		errno = EFBIG;
		return -1;
	}
	if (in->queue.len == 0 && (n = procin_push(in, data, len)) == -1) {
		procin_discard(in);
		return 0;
	}
	if ((size_t)n == len)
		return 0;
	widen(in);
	/* An empty queue accepts a write above the limit. */
	in->queue.max = LIMIT_STDIN_QUEUE > len ? LIMIT_STDIN_QUEUE : len;
	if (buf_put(&in->queue, data + n, len - (size_t)n) == -1)
		return -1;
	io_start(&in->write_ev);
	return 0;
}

static void
be_patient(struct procin *in)
{
	if (in->queue_max < LIMIT_STDIN_QUEUE)
		timer_ensure(&in->patience, PATIENCE);
}

bool
procin_has_room(const struct procin *in, size_t len)
{
	return TAILQ_EMPTY(&in->parked) && (in->fd == -1 ||
	    queue_has_room(in, len));
}

enum procin_result
procin_write(struct procin *in, const void *data, size_t len,
    struct rpc_req *req)
{
	struct parked	*p;

	if (TAILQ_EMPTY(&in->parked)) {
		if (procin_take(in, data, len) == 0)
			return PROCIN_ACCEPTED;
		if (errno != EFBIG)
			return PROCIN_ERROR;
	}
	if (*in->parked_total + len > LIMIT_STDIN_PARKED)
		return PROCIN_FULL;
	if ((p = malloc(sizeof(*p) + len)) == NULL)
		return PROCIN_ERROR;
	p->req = req;
	p->len = len;
	memcpy(p->data, data, len);
	TAILQ_INSERT_TAIL(&in->parked, p, entry);
	*in->parked_total += len;
	be_patient(in);
	return PROCIN_PARKED;
}

/*
 * Accept parked writes while there is room.  Take each off the list before
 * trying: the write may find the reader gone, which accepts and removes all.
 */
static void
procin_admit(struct procin *in)
{
	struct parked	*p;

	timer_stop(&in->patience);
	while ((p = TAILQ_FIRST(&in->parked)) != NULL) {
		TAILQ_REMOVE(&in->parked, p, entry);
		if (procin_take(in, p->data, p->len) == -1) {
			TAILQ_INSERT_HEAD(&in->parked, p, entry);
			be_patient(in);
			return;
		}
		procin_unpark(in, p);
	}
	if (in->closing && in->queue.len == 0)
		procin_end(in);
}

static void
procin_on_write(void *arg)
{
	struct procin	*in = arg;

	assert(in->fd != -1);
	push_queue(in);
	if (in->fd == -1)
		return;
	buf_trim(&in->queue, QUEUE_KEEP);
	if (in->queue.len > 0)
		io_start(&in->write_ev);
	if (in->queue.len < LIMIT_STDIN_READ / 2)
		in->queue_max = LIMIT_STDIN_READ;
	if (in->queue.len < in->queue_max / 2)
		procin_admit(in);
}

static void
procin_on_patience(void *arg)
{
	struct procin	*in = arg;

	in->queue_max = LIMIT_STDIN_QUEUE;
	procin_admit(in);
}

void
procin_end(struct procin *in)
{
	struct termios	 t;
	char		 eof = 4;

	in->closing = true;
	if (in->fd == -1 || in->queue.len > 0 || !TAILQ_EMPTY(&in->parked))
		return;
	if (!in->is_tty) {
		close_fd(in);
		return;
	}
	/* The EOF of a terminal is a character (VEOF). */
	in->closing = false;
	if (tcgetattr(in->fd, &t) == 0)
		eof = (char)t.c_cc[VEOF];
	if (procin_take(in, &eof, 1) == -1)
		procin_discard(in);
}

void
procin_discard(struct procin *in)
{
	struct parked	*p;

	timer_stop(&in->patience);
	close_fd(in);
	buf_fini(&in->queue);
	while ((p = TAILQ_FIRST(&in->parked)) != NULL) {
		TAILQ_REMOVE(&in->parked, p, entry);
		procin_unpark(in, p);
	}
}

/* A write id, or for a long one its digest. */
struct short_id {
	unsigned char	 digest[crypto_generichash_BYTES];
	const void	*bytes;
	size_t		 len;
};

static void
shorten(struct short_id *s, const char *id, size_t len)
{
	s->bytes = id;
	s->len = len;
	if (len <= sizeof(s->digest))
		return;
	crypto_generichash(s->digest, sizeof(s->digest),
	    (const unsigned char *)id, len, NULL, 0);
	s->bytes = s->digest;
	s->len = sizeof(s->digest);
}

bool
procin_has_id(const struct procin *in, const char *id, size_t len)
{
	struct short_id	 s;

	shorten(&s, id, len);
	return map_find(&in->ids, s.bytes, s.len) != NULL;
}

int
procin_remember(struct procin *in, const char *id, size_t len)
{
	struct short_id	 s;
	struct write_id	*w;

	shorten(&s, id, len);
	if ((w = calloc(1, sizeof(*w) + s.len)) == NULL)
		return -1;
	memcpy(w->id, s.bytes, s.len);
	if (map_add(&in->ids, &w->node, w->id, s.len, w) == -1) {
		free(w);
		return -1;
	}
	TAILQ_INSERT_TAIL(&in->id_order, w, entry);
	if (++in->nids > LIMIT_WRITE_IDS)
		id_drop(in, TAILQ_FIRST(&in->id_order));
	return 0;
}
