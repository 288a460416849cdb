#include "worker/greet.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/buf.h"
#include "common/httphead.h"
#include "worker/metrics.h"

#define ANSWER_MAX	1024	/* bytes */
#define METRICS_MAX	(64 * 1024)
#define LINGER_MS	500	/* for the peer to read the answer */

/* Wait until fd is ready for events; false: the deadline came first. */
static bool
wait_for(int fd, short events, uint64_t deadline)
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

static int
send_all(int fd, const char *text, size_t len, uint64_t deadline)
{
	ssize_t	 n;

	while (len > 0) {
		n = send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN &&
		    wait_for(fd, POLLOUT, deadline))
			continue;
		if (n <= 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Read a head of at most HTTPHEAD_MAX bytes: look first (MSG_PEEK), then
 * take what surely belongs to it.  Its length; 0: the peer left or was late;
 * more than HTTPHEAD_MAX: it is too long.
 */
static size_t
read_head(int fd, char *head, uint64_t deadline)
{
	size_t	 len = 0, end, take;
	ssize_t	 n;

	while (len <= HTTPHEAD_MAX) {
		if (!wait_for(fd, POLLIN, deadline))
			return 0;
		n = recv(fd, head + len, HTTPHEAD_MAX + 1 - len, MSG_PEEK);
		if (n == -1 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return 0;
		end = httphead_end(head, len + (size_t)n);
		take = end > 0 ? end - len : (size_t)n;
		if (recv(fd, head + len, take, 0) != (ssize_t)take)
			return 0;
		len += take;
		if (end > 0)
			return len;
	}
	return len;
}

/*
 * The peer may still be sending; closing now would destroy the answer on its
 * way (a reset).  Tell it that we are done and give it a moment.
 */
static void
linger(int fd)
{
	uint64_t	 deadline = clock_ms() + LINGER_MS;
	char		 sink[4096];

	if (shutdown(fd, SHUT_WR) == -1)
		return;
	while (wait_for(fd, POLLIN, deadline))
		if (recv(fd, sink, sizeof(sink), 0) <= 0)
			return;
}

/* Judge what it asks, given how we are. */
static void
judge(struct httphead *h, int refuse, bool is_ready)
{
	if (refuse != 0) {
		h->kind = HTTPHEAD_ERROR;
		h->status = refuse;
	}
	if (h->kind == HTTPHEAD_READY && !is_ready) {
		h->kind = HTTPHEAD_ERROR;
		h->status = 503;
	}
}

/* All that is no upgrade. */
static void
answer(int fd, const struct httphead *h, uint64_t deadline)
{
	char	 text[ANSWER_MAX];
	size_t	 n;

	n = httphead_answer(h->kind == HTTPHEAD_ERROR ? h->status : 200,
	    h->is_head, text, sizeof(text));
	if (send_all(fd, text, n, deadline) == 0)
		linger(fd);
}

/* 0, or -1: there is nothing to tell. */
static int
answer_metrics(int fd, const struct httphead *h, uint64_t deadline,
    const Ipc__Figures *f)
{
	char		 head[ANSWER_MAX];
	struct buf	 b;
	size_t		 n;
	int		 r;

	buf_init(&b, METRICS_MAX);
	if ((r = metrics_put(&b, f)) == 0) {
		n = httphead_page(METRICS_TYPE, b.len, head, sizeof(head));
		if (send_all(fd, head, n, deadline) == 0 && (h->is_head ||
		    send_all(fd, (const char *)buf_data(&b), b.len,
		    deadline) == 0))
			linger(fd);
	}
	buf_fini(&b);
	return r;
}

void
greet_metrics(int fd, uint64_t ms, int refuse, bool is_ready,
    const Ipc__Figures *f)
{
	char		 head[HTTPHEAD_MAX + 1];
	uint64_t	 deadline = clock_ms() + ms;
	struct httphead	 h;
	size_t		 len;

	if ((len = read_head(fd, head, deadline)) == 0)
		return;
	httphead_judge_metrics(head, len, &h);
	judge(&h, refuse, is_ready);
	if (h.kind == HTTPHEAD_METRICS) {
		if (answer_metrics(fd, &h, deadline, f) == 0)
			return;
		h.kind = HTTPHEAD_ERROR;
		h.status = 500;
	}
	answer(fd, &h, deadline);
}

enum greeting
greet(int fd, uint64_t ms, int refuse, bool is_ready)
{
	char		 head[HTTPHEAD_MAX + 1], text[ANSWER_MAX];
	uint64_t	 deadline = clock_ms() + ms;
	struct httphead	 h;
	size_t		 len, n;

	if ((len = read_head(fd, head, deadline)) == 0)
		return GREETING_ANSWERED;
	httphead_judge(head, len, &h);
	judge(&h, refuse, is_ready);
	if (h.kind == HTTPHEAD_UPGRADE) {
		n = httphead_switch(&h, text, sizeof(text));
		return send_all(fd, text, n, deadline) == 0 ?
		    GREETING_UPGRADED : GREETING_ANSWERED;
	}
	answer(fd, &h, deadline);
	return GREETING_ANSWERED;
}
