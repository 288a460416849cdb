#include "common/ipc/chan.h"

#include <sys/ioctl.h>
#include <sys/queue.h>

#include <linux/sockios.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"

#define CHAN_QUEUE_MAX	(1024 * 1024)	/* bytes a peer may leave unread */

struct packet {
	TAILQ_ENTRY(packet)	 entry;
	void			*data;
	size_t			 len;
	int			 fd;
};

struct chan {
	int			 sock;
	enum ipc_role		 self, peer;
	struct io		 read_ev, write_ev;
	struct timer		 end_ev;
	TAILQ_HEAD(, packet)	 queue;
	size_t			 queued;	/* bytes */
	size_t			 max;
	int			 error;		/* for on_end */
	bool			 ended;
	bool			 holds;
	bool			*freed;		/* on chan_on_read()'s stack */
	chan_msg_fn		*on_msg;
	chan_end_fn		*on_end;
	void			*arg;
	bool			 is_lost;	/* the peer closed */
};

static void	 chan_on_read(void *);
static void	 chan_on_write(void *);
static void	 chan_on_end(void *);

struct chan *
chan_new(struct event_base *base, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg)
{
	struct chan	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	TAILQ_INIT(&c->queue);
	c->sock = -1;
	c->max = CHAN_QUEUE_MAX;
	c->self = self;
	c->peer = peer;
	c->on_msg = on_msg;
	c->on_end = on_end;
	c->arg = arg;
	io_init(&c->read_ev, base, sock, EV_READ | EV_PERSIST, chan_on_read, c);
	io_init(&c->write_ev, base, sock, EV_WRITE, chan_on_write, c);
	timer_init(&c->end_ev, base, chan_on_end, c);
	if (io_start(&c->read_ev) == -1) {
		chan_free(&c);
		return NULL;
	}
	c->sock = sock;
	return c;
}

static void
packet_free(struct chan *c, struct packet *p)
{
	assert(c->queued >= sizeof(*p) + p->len);
	TAILQ_REMOVE(&c->queue, p, entry);
	c->queued -= sizeof(*p) + p->len;
	if (p->data != NULL)
		explicit_bzero(p->data, p->len);	/* as ipc_send() */
	free(p->data);
	fd_close(&p->fd);
	free(p);
}

void
chan_free(struct chan **cp)
{
	struct chan	*c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	if (c->freed != NULL)
		*c->freed = true;
	io_stop(&c->read_ev);
	io_stop(&c->write_ev);
	timer_stop(&c->end_ev);
	while (!TAILQ_EMPTY(&c->queue))
		packet_free(c, TAILQ_FIRST(&c->queue));
	fd_close(&c->sock);
	free(c);
}

void
chan_hold(struct chan *c, bool holds)
{
	c->holds = holds;
	if (!holds && !c->ended)
		chan_on_write(c);
}

int
chan_renew(struct chan *c, int sock)
{
	assert(c->holds && c->sock != -1);
	io_stop(&c->read_ev);
	timer_stop(&c->end_ev);
	if (dup3(sock, c->sock, O_CLOEXEC) == -1 || io_start(&c->read_ev) == -1)
		return -1;
	c->ended = false;
	return 0;
}

void
chan_urgent(struct chan *c)
{
	io_urgent(&c->read_ev);
	io_urgent(&c->write_ev);
	timer_urgent(&c->end_ev);
}

void
chan_set_limit(struct chan *c, size_t max)
{
	assert(max > 0);
	c->max = max;
}

size_t
chan_waiting(const struct chan *c)
{
	return c->queued;
}

bool
chan_is_idle(const struct chan *c)
{
	return TAILQ_EMPTY(&c->queue);
}

bool
chan_is_lost(const struct chan *c)
{
	return c->is_lost;
}

bool
chan_has_ended(const struct chan *c)
{
	return c->ended;
}

bool
chan_is_read(const struct chan *c)
{
	int	 unread;

	return ioctl(c->sock, SIOCOUTQ, &unread) == -1 || unread == 0;
}

/* Report the end from the loop: a caller in the middle of a send is safe. */
static void
chan_fail(struct chan *c, int error)
{
	if (c->ended)
		return;
	c->ended = true;
	c->error = error;
	io_stop(&c->read_ev);
	io_stop(&c->write_ev);
	timer_fire(&c->end_ev);
}

static void
chan_on_end(void *arg)
{
	struct chan	*c = arg;

	assert(c->ended && c->freed == NULL);
	c->on_end(c->arg, c->error);
}

static void
chan_queue(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	struct packet	*p;

	assert(!c->ended && kind < IPC_KINDS);
	if (c->queued >= c->max) {
		chan_fail(c, ENOBUFS);
		return;
	}
	if ((p = calloc(1, sizeof(*p))) == NULL) {
		chan_fail(c, ENOMEM);
		return;
	}
	p->fd = -1;
	TAILQ_INSERT_TAIL(&c->queue, p, entry);
	p->data = ipc_pack(kind, body, &p->len);
	c->queued += sizeof(*p) + p->len;
	if (p->data == NULL ||
	    (fd != -1 && (p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) == -1) ||
	    (!c->holds && io_start(&c->write_ev) == -1)) {
		chan_fail(c, errno);
		packet_free(c, p);
	}
}

/*
 * Whether the peer has closed.  Its last messages are read first, then EOF ends
 * the channel.  ECONNRESET (unread messages of ours) is reported once, to a
 * send or to a receive.
 */
static bool
has_left(int error)
{
	return error == EPIPE || error == ECONNRESET;
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	assert(ipc_rows[kind].from == c->self && ipc_rows[kind].to == c->peer);
	assert(ipc_rows[kind].has_fd == (fd != -1));
	if (c->ended) {
		c->is_lost = true;
		return;
	}
	if (TAILQ_EMPTY(&c->queue) && !c->holds) {
		if (ipc_send(c->sock, kind, body, fd) == 0)
			return;
		if (has_left(errno)) {
			c->is_lost = true;
			return;
		}
		if (errno != EAGAIN) {
			chan_fail(c, errno);
			return;
		}
	}
	chan_queue(c, kind, body, fd);
}

static void
chan_on_write(void *arg)
{
	struct chan	*c = arg;
	struct packet	*p;

	assert(c->sock != -1);
	while ((p = TAILQ_FIRST(&c->queue)) != NULL) {
		if (ipc_send_packed(c->sock, p->data, p->len, p->fd) == -1) {
			if (errno == EAGAIN)
				io_start(&c->write_ev);
			else if (!has_left(errno))
				chan_fail(c, errno);
			return;
		}
		packet_free(c, p);
	}
}

/* One message in a turn: most come alone, and the loop comes again. */
static void
chan_on_read(void *arg)
{
	struct chan	*c = arg;
	struct ipc_msg	 m;
	bool		 freed = false;
	int		 r;

	assert(!c->ended && c->sock != -1);
	if ((r = ipc_recv(c->sock, c->peer, c->self, &m)) != 1) {
		if (r == 0)
			chan_fail(c, 0);
		else if (errno != EAGAIN)
			chan_fail(c, errno);
		return;
	}
	c->freed = &freed;
	c->on_msg(c->arg, &m);
	ipc_msg_fini(&m);
	if (!freed)
		c->freed = NULL;
}
