#include "worker/conn/iodeadline.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>

#include "common/clock.h"

#define LINGER_MS	500	/* for the peer to read the response */

bool
iodeadline(int fd, short events, uint64_t deadline)
{
	struct pollfd	 p = { fd, events, 0 };
	uint64_t	 now;
	int		 r;

	do {
		if ((now = clock_ms()) >= deadline)
			return false;
		r = poll(&p, 1, (int)(deadline - now));
	} while (r == -1 && errno == EINTR);
	return r > 0;
}

int
iodeadline_send(int fd, const void *data, size_t len, uint64_t deadline)
{
	const char	*at = data;
	ssize_t		 n;

	while (len > 0) {
		n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN &&
		    iodeadline(fd, POLLOUT, deadline))
			continue;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

void
iodeadline_linger(int fd)
{
	uint64_t	 deadline = clock_ms() + LINGER_MS;
	char		 sink[4096];

	if (shutdown(fd, SHUT_WR) == -1)
		return;
	while (iodeadline(fd, POLLIN, deadline))
		if (recv(fd, sink, sizeof(sink), 0) <= 0)
			return;
}
