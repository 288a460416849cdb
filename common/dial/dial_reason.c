#include "common/dial/dial_reason.h"

#include <sys/socket.h>

#include <netinet/in.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"

struct dial_reason {
	struct wsloop		*loop;
	struct wswatch		*watch;
	struct wsloop_timer	 soon;		/* it is known at once */
	int			 fd;
	int			 error;
	void			(*fn)(void *, int);
	void			*arg;
};

static void
reason_tell(void *arg)
{
	struct dial_reason	*r = arg;

	r->fn(r->arg, r->error);
}

/* It is connected, or it is known that it cannot be. */
static void
reason_on_known(void *arg)
{
	struct dial_reason	*r = arg;
	socklen_t		 len = sizeof(r->error);

	wswatch_free(&r->watch);
	if (getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &r->error, &len) == -1)
		r->error = errno;
	reason_tell(r);
}

static const struct wswatch_events	 reason_events = {
	reason_on_known, reason_on_known, reason_on_known
};

/* 0, or -1 with errno: EINPROGRESS, it will be known. */
static int
reason_connect(struct dial_reason *r, const char *address, uint16_t port)
{
	struct sockaddr_in6	 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct sockaddr_in	 four = { .sin_family = AF_INET,
				    .sin_port = htons(port) };
	bool			 is_four;

	is_four = inet_pton(AF_INET, address, &four.sin_addr) == 1;
	if (!is_four && inet_pton(AF_INET6, address, &six.sin6_addr) != 1) {
		errno = EINVAL;
		return -1;
	}
	r->fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM |
	    SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->fd == -1)
		return -1;
	return is_four ? connect(r->fd, (struct sockaddr *)&four,
	    sizeof(four)) : connect(r->fd, (struct sockaddr *)&six,
	    sizeof(six));
}

struct dial_reason *
dial_reason_new(struct wsloop *l, const char *address, uint16_t port,
    void (*fn)(void *, int), void *arg)
{
	struct dial_reason	*r;

	assert(fn != NULL);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	r->loop = l;
	r->fn = fn;
	r->arg = arg;
	r->fd = -1;
	if (reason_connect(r, address, port) == -1)
		r->error = errno;
	if (r->error != EINPROGRESS) {
		wsloop_timer_set(l, &r->soon, 0, reason_tell, r);
	} else if ((r->watch = wswatch_new(l, r->fd, &reason_events, r)) ==
	    NULL) {
		dial_reason_free(&r);
		return NULL;
	} else {
		wswatch_read(r->watch, false);
		wswatch_write(r->watch);
	}
	return r;
}

void
dial_reason_free(struct dial_reason **rp)
{
	struct dial_reason	*r = *rp;

	*rp = NULL;
	if (r == NULL)
		return;
	wsloop_timer_clear(r->loop, &r->soon);
	wswatch_free(&r->watch);
	fd_close(&r->fd);
	free(r);
}
