#include "worker/proxy/helper/proxy_side.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "common/limit.h"

/* All that is read at once, a head before it, and a message of our own. */
#define OUT_MAX		(LIMIT_NET_BUFFER + 4 * (size_t)LIMIT_NET_HEAD)

void
proxy_side_clear(struct proxy_side *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	buf_init(&s->out, OUT_MAX);
}

void
proxy_side_open(struct proxy_side *s, struct event_base *base, int fd,
    ev_fn *on_read, ev_fn *on_write, void *arg)
{
	assert(s->fd == -1 && fd != -1);
	proxy_side_clear(s);
	s->fd = fd;
	io_init(&s->rd, base, fd, EV_READ | EV_PERSIST, on_read, arg);
	io_init(&s->wr, base, fd, EV_WRITE | EV_PERSIST, on_write, arg);
}

void
proxy_side_close(struct proxy_side *s)
{
	if (s->fd != -1) {
		io_stop(&s->rd);
		io_stop(&s->wr);
	}
	fd_close(&s->fd);
	buf_fini(&s->out);
	s->reads = s->writes = false;
}

static int
side_turn(struct io *io, bool *is_on, bool on)
{
	if (*is_on == on)
		return 0;
	*is_on = on;
	if (on)
		return io_start(io);
	io_stop(io);
	return 0;
}

int
proxy_side_want(struct proxy_side *s, bool reads)
{
	if (s->fd == -1)
		return 0;
	if (side_turn(&s->wr, &s->writes, s->out.len > 0) == -1)
		return -1;
	return reads ? side_turn(&s->rd, &s->reads, true) : 0;
}

void
proxy_side_stop(struct proxy_side *s)
{
	if (s->fd != -1)
		(void)side_turn(&s->rd, &s->reads, false);
}

int
proxy_side_send(struct proxy_side *s, const void *data, size_t len)
{
	struct iovec	 iov[2];
	struct msghdr	 m;
	ssize_t		 n;
	size_t		 sent, of_out;

	if (s->out.len + len == 0)
		return 0;
	if (s->fd == -1) {
		errno = EPIPE;
		return -1;
	}
	memset(&m, 0, sizeof(m));
	iov[0].iov_base = buf_data(&s->out);
	iov[0].iov_len = s->out.len;
	iov[1].iov_base = (void *)(uintptr_t)data;
	iov[1].iov_len = len;
	m.msg_iov = s->out.len > 0 ? iov : iov + 1;
	m.msg_iovlen = s->out.len > 0 && len > 0 ? 2 : 1;
	n = sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n == -1 && errno != EAGAIN && errno != EINTR)
		return -1;
	sent = n > 0 ? (size_t)n : 0;
	of_out = sent < s->out.len ? sent : s->out.len;
	buf_drain(&s->out, of_out);
	sent -= of_out;
	if (sent < len &&
	    buf_put(&s->out, (const char *)data + sent, len - sent) == -1)
		return -1;
	buf_trim(&s->out, 0);
	return 0;
}

void
proxy_side_shut(struct proxy_side *s)
{
	if (!s->is_shut && s->fd != -1)
		(void)shutdown(s->fd, SHUT_WR);	/* the peer may have gone */
	s->is_shut = true;
}
