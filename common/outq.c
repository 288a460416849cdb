#include "common/outq.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define QUEUE_MAX	((size_t)256 * 1024 * 1024)
#define QUEUE_KEEP	(256 * 1024)

/*
 * Open a file description of our own for the same pipe or terminal: O_NONBLOCK
 * on the inherited one would affect all who share it.  -1: not possible.
 */
static int
outq_reopen(int fd)
{
	char	 path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void
outq_init(struct outq *s, int fd)
{
	struct stat	 st;
	int		 own;

	memset(s, 0, sizeof(*s));
	buf_init(&s->queue, QUEUE_MAX);
	s->fd = fd;
	s->step = SSIZE_MAX;
	if (fstat(fd, &st) == -1)
		return;
	s->is_socket = S_ISSOCK(st.st_mode);
	/* Regular files block, but always take all. */
	if (!S_ISFIFO(st.st_mode) && !isatty(fd))
		return;
	if ((own = outq_reopen(fd)) != -1) {
		s->fd = own;
		s->is_own = true;
		return;
	}
	/* What a pipe takes without blocking after POLLOUT. */
	s->may_block = true;
	s->step = PIPE_BUF;
}

void
outq_fini(struct outq *s)
{
	buf_fini(&s->queue);
	if (s->is_own)
		fd_close(&s->fd);
}

/* Write once.  Return the number of bytes; 0: no room now, or broken. */
static size_t
outq_push(struct outq *s, const void *data, size_t len)
{
	ssize_t	 n;

	assert(s->error == 0 && len > 0);
	if (len > s->step)
		len = s->step;
	if (s->is_socket)
		n = send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		n = write(s->fd, data, len);
	if (n >= 0)
		return (size_t)n;
	if (errno != EAGAIN && errno != EINTR) {
		s->error = errno;
		buf_drain(&s->queue, s->queue.len);
	}
	return 0;
}

int
outq_put(struct outq *s, const void *data, size_t len)
{
	const uint8_t	*p = data;
	size_t		 n = 1;

	assert(s->error == 0 || s->queue.len == 0);
	while (!s->may_block && s->queue.len == 0 && s->error == 0 &&
	    len > 0 && n > 0) {
		n = outq_push(s, p, len);
		p += n;
		len -= n;
	}
	return s->error != 0 || len == 0 ? 0 : buf_put(&s->queue, p, len);
}

void
outq_on_room(struct outq *s)
{
	size_t	 n;

	do {
		if (s->queue.len == 0)
			break;
		n = outq_push(s, buf_data(&s->queue), s->queue.len);
		if (s->error == 0)
			buf_drain(&s->queue, n);
	} while (s->error == 0 && n > 0 && !s->may_block);
	buf_trim(&s->queue, QUEUE_KEEP);
}
