#include "worker/proxy/helper/proxy_connect.h"

#include <sys/socket.h>

#include <netinet/in.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/net/tcp.h"

#define DISCARD_PORT	9	/* any will do: nothing is sent */

struct attempt {
	struct proxy_connect	*all;
	int			 fd;
	struct io		 ev;
};

struct proxy_connect {
	struct event_base	*base;
	struct netaddr		 list[PROXY_NAMES_MAX];
	struct attempt		 attempt[PROXY_NAMES_MAX];
	size_t			 n, next;
	unsigned		 running;
	uint16_t		 port;
	int			 error;		/* of the last that failed */
	struct timer		 next_ev, end_ev;
	proxy_connect_fn	*fn;
	void			*arg;
};

static socklen_t
make_address(const struct netaddr *a, uint16_t port,
    struct sockaddr_storage *out)
{
	struct sockaddr_in	*in = (struct sockaddr_in *)(void *)out;
	struct sockaddr_in6	*in6 = (struct sockaddr_in6 *)(void *)out;

	memset(out, 0, sizeof(*out));
	if (a->family == AF_INET) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->byte, 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, a->byte, 16);
	return sizeof(*in6);
}

bool
proxy_connect_is_own(const struct netaddr *a)
{
	struct sockaddr_storage	 to, from;
	socklen_t		 len = make_address(a, DISCARD_PORT, &to);
	socklen_t		 got = sizeof(from);
	bool			 is_own = false;
	size_t			 at;
	int			 fd;

	if ((fd = socket(a->family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		return true;		/* unknown: refuse */
	/* To an address of ours the kernel sends from that address. */
	if (connect(fd, (struct sockaddr *)&to, len) == 0 &&
	    getsockname(fd, (struct sockaddr *)&from, &got) == 0) {
		at = a->family == AF_INET ?
		    offsetof(struct sockaddr_in, sin_addr) :
		    offsetof(struct sockaddr_in6, sin6_addr);
		is_own = memcmp((char *)&from + at, a->byte,
		    a->family == AF_INET ? 4 : 16) == 0;
	}
	fd_close(&fd);
	return is_own;
}

/* --- attempts --- */

static void
attempt_end(struct attempt *t)
{
	if (t->fd == -1)
		return;
	assert(t->all->running > 0);
	io_stop(&t->ev);
	fd_close(&t->fd);
	t->all->running--;
}

void
proxy_connect_stop(struct proxy_connect **cp)
{
	struct proxy_connect	*c = *cp;
	size_t			 i;

	*cp = NULL;
	if (c == NULL)
		return;
	for (i = 0; i < c->next; i++)
		attempt_end(&c->attempt[i]);
	timer_stop(&c->next_ev);
	timer_stop(&c->end_ev);
	free(c);
}

static void
connect_done(struct proxy_connect *c, int fd, int error)
{
	proxy_connect_fn	*fn = c->fn;
	void			*arg = c->arg;

	proxy_connect_stop(&c);
	fn(arg, fd, error);
}

static void
attempt_on_ready(void *arg)
{
	struct attempt		*t = arg;
	struct proxy_connect	*c = t->all;
	int			 error = 0, fd;
	socklen_t		 len = sizeof(error);

	assert(t->fd != -1 && c->running > 0);
	if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error == 0) {
		fd = t->fd;
		io_stop(&t->ev);
		t->fd = -1;
		c->running--;
		connect_done(c, fd, 0);
		return;
	}
	c->error = error;
	attempt_end(t);
	timer_set(&c->next_ev, 0);
}

/* 0, or -1 with errno: the address cannot be reached. */
static int
attempt_start(struct attempt *t, const struct netaddr *a, uint16_t port)
{
	struct sockaddr_storage	 to;
	struct sockaddr		*at = (struct sockaddr *)&to;
	socklen_t		 len = make_address(a, port, &to);
	int			 r, saved;

	if ((t->fd = socket(a->family, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return -1;
	t->all->running++;
	if (tcp_tune(t->fd, at) == -1)
		goto fail;
	r = connect(t->fd, at, len);
	/* On loopback it is connected by now, and a second call says so. */
	if (r == -1 && errno == EINPROGRESS && tcp_is_loopback(at))
		r = connect(t->fd, at, len);
	if (r == -1 && errno != EINPROGRESS && errno != EALREADY)
		goto fail;
	io_init(&t->ev, t->all->base, t->fd, EV_WRITE, attempt_on_ready, t);
	if (r == 0)
		io_fire(&t->ev);
	else if (io_start(&t->ev) == -1)
		goto fail;
	return 0;
 fail:
	saved = errno;
	fd_close(&t->fd);
	t->all->running--;
	errno = saved;
	return -1;
}

/* Try the next address, if there is one. */
static void
connect_on_next(void *arg)
{
	struct proxy_connect	*c = arg;
	struct attempt		*t;

	assert(c->next <= c->n && c->running <= c->next);
	while (c->next < c->n) {
		t = &c->attempt[c->next];
		t->all = c;
		if (attempt_start(t, &c->list[c->next++], c->port) == 0) {
			timer_set(&c->next_ev, LIMIT_NET_FALLBACK);
			return;
		}
		c->error = errno;
	}
	if (c->running == 0)
		connect_done(c, -1, c->error);
}

static void
connect_on_end(void *arg)
{
	connect_done(arg, -1, ETIMEDOUT);
}

struct proxy_connect *
proxy_connect_start(struct event_base *base, const struct netaddr *list,
    size_t n, uint16_t port, proxy_connect_fn *fn, void *arg)
{
	struct proxy_connect	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	assert(n <= PROXY_NAMES_MAX);
	c->base = base;
	memcpy(c->list, list, n * sizeof(*list));
	c->n = n;
	c->port = port;
	c->error = EHOSTUNREACH;
	c->fn = fn;
	c->arg = arg;
	timer_init(&c->next_ev, base, connect_on_next, c);
	timer_init(&c->end_ev, base, connect_on_end, c);
	timer_fire(&c->next_ev);
	timer_set(&c->end_ev, LIMIT_NET_CONNECT);
	return c;
}
