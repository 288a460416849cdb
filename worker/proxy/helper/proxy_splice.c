#include "worker/proxy/helper/proxy_splice.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/limit.h"
#include "common/trick.h"

#define SPLICE_LEAST	(LIMIT_NET_BUFFER / 4)	/* less is copied sooner */

bool
proxy_splice_pays(size_t n)
{
	return HAS_TRICK(splice) && n >= SPLICE_LEAST;
}

/* Empty the pipe of n bytes: into the queue, or (failed) nowhere. */
static int
splice_rest(int fd, size_t n, struct proxy_side *to, bool failed, char *scratch)
{
	int	 saved = errno;
	ssize_t	 got;

	for (; n > 0; n -= (size_t)got) {
		if ((got = read(fd, scratch, n)) <= 0)
			return -1;
		if (!failed &&
		    buf_put(&to->out, scratch, (size_t)got) == -1) {
			failed = true;
			saved = errno;
		}
	}
	errno = saved;
	return failed ? -1 : 0;
}

ssize_t
proxy_splice(struct proxy_side *from, struct proxy_side *to, const int pipe[2],
    char *scratch)
{
	ssize_t	 n, sent;
	bool	 failed;

	if ((n = splice(from->fd, NULL, pipe[1], NULL, LIMIT_NET_BUFFER,
	    SPLICE_F_NONBLOCK)) <= 0)
		return n;
	sent = splice(pipe[0], NULL, to->fd, NULL, (size_t)n,
	    SPLICE_F_NONBLOCK);
	failed = sent == -1 && errno != EAGAIN && errno != EINTR;
	if (sent == -1)
		sent = 0;
	return splice_rest(pipe[0], (size_t)(n - sent), to, failed, scratch) ==
	    -1 ? -1 : n;
}
