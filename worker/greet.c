#include "worker/greet.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>

#include "common/clock.h"
#include "common/httphead.h"
#include "worker/door.h"
#include "worker/iowait.h"

#define ANSWER_MAX	1024	/* bytes */

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
		if (!iowait(fd, POLLIN, deadline))
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
 * Whether a token lets the client in, where it shows one or has to.  0, or the
 * status to answer with.
 */
static int
ask(const struct greet_rules *r, const struct httphead *h, uint64_t deadline,
    bool *is_admitted_out)
{
	struct span	 token;
	bool		 has_shown = httphead_bearer(h, &token);
	int		 status;

	*is_admitted_out = false;
	if (!has_shown && r->asking != IPC__ASKING__ALWAYS)
		return 0;
	status = door_ask(r->master, token, deadline);
	*is_admitted_out = status == 0;
	return status;
}

/* What is answered instead of an upgrade, or 0. */
static int
refusal(const struct greet_rules *r, const struct httphead *h)
{
	if (r->refuse != 0)
		return r->refuse;
	if (h->kind == HTTPHEAD_READY && !r->is_ready)
		return 503;
	return h->kind == HTTPHEAD_ERROR ? h->status : 0;
}

enum greeting
greet(int fd, const struct greet_rules *r)
{
	char		 head[HTTPHEAD_MAX + 1], answer[ANSWER_MAX];
	uint64_t	 deadline = clock_ms() + r->ms;
	struct httphead	 h;
	bool		 is_admitted = false;
	size_t		 len, n;
	int		 status;

	if ((len = read_head(fd, head, deadline)) == 0)
		return GREETING_ANSWERED;
	httphead_judge(head, len, r->hosts, r->nhosts, &h);
	status = refusal(r, &h);
	if (status == 0 && h.kind == HTTPHEAD_UPGRADE &&
	    r->asking != IPC__ASKING__NEVER)
		status = ask(r, &h, deadline, &is_admitted);
	if (status == 0 && h.kind == HTTPHEAD_UPGRADE) {
		n = httphead_switch(&h, answer, sizeof(answer));
		if (iowait_send(fd, answer, n, deadline) == -1)
			return GREETING_ANSWERED;
		return is_admitted ? GREETING_ADMITTED : GREETING_UPGRADED;
	}
	n = httphead_answer(status != 0 ? status : 200, h.is_head, answer,
	    sizeof(answer));
	if (iowait_send(fd, answer, n, deadline) == 0)
		iowait_linger(fd);
	return GREETING_ANSWERED;
}
