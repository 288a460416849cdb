#include "worker/conn/upgrade.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/net/httphead.h"
#include "worker/conn/iodeadline.h"
#include "worker/conn/openmetrics.h"
#include "worker/conn/token_auth.h"

#define ANSWER_MAX	1024	/* bytes */
#define METRICS_MAX	(64 * 1024)
#define UPGRADE_WHY_MAX	200
_Static_assert(UPGRADE_WHY_MAX >= TOKEN_AUTH_WHY_MAX, "a reason fits");

/*
 * Read a head: MSG_PEEK, then read what belongs to it.  Return its length; 0:
 * closed or late; above HTTPHEAD_MAX: too long.
 */
static size_t
upgrade_read_head(int fd, char *head, uint64_t deadline)
{
	size_t	 len = 0, end, take;
	ssize_t	 n;

	while (len <= HTTPHEAD_MAX) {
		n = recv(fd, head + len, HTTPHEAD_MAX + 1 - len,
		    MSG_PEEK | MSG_DONTWAIT);
		/* Mostly it is there already: wait only if it is not. */
		if (n == -1 && (errno == EINTR || (errno == EAGAIN &&
		    iodeadline(fd, POLLIN, deadline))))
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

/* Check a token, if there is one or must be.  0, or the HTTP status. */
static int
upgrade_ask(const struct upgrade_rules *r, const struct httphead *h,
    uint64_t deadline, bool *is_admitted_out, char why[TOKEN_AUTH_WHY_MAX])
{
	struct span	 token;
	bool		 has_shown = httphead_bearer(h, &token);
	int		 status;

	*is_admitted_out = false;
	if (!has_shown && r->asking != IPC__ASKING__ALWAYS)
		return 0;
	status = token_auth_ask(r->master, token, deadline, why);
	*is_admitted_out = status == 0;
	return status;
}

/* Copy part of a head, made printable. */
static void
upgrade_copy(char *to, size_t size, const char *from, size_t len)
{
	size_t	 i;

	for (i = 0; i < len && i < size - 1; i++)
		to[i] = from[i] > ' ' && from[i] < 0x7f ? from[i] : '?';
	to[i] = '\0';
}

/* Say why a web page, or a name that may point here, is refused. */
static void
upgrade_explain(const struct httphead *h, char why[UPGRADE_WHY_MAX])
{
	char	 name[64];

	if (h->origin != NULL) {
		upgrade_copy(name, sizeof(name), h->origin, h->origin_len);
		snprintf(why, UPGRADE_WHY_MAX, "web pages are not served "
		    "(Origin %s)", name);
	} else {
		upgrade_copy(name, sizeof(name), h->host, h->host_len);
		snprintf(why, UPGRADE_WHY_MAX, "Host %s is none of HostName",
		    name);
	}
	log_info_with((struct log_member[]){ { "event", "refused", 0 },
	    { "why", why, 0 }, { NULL, NULL, 0 } }, "refused: %s", why);
}

/* Apply our own state to a judged head; why: of an error, or empty. */
static void
upgrade_judge(struct httphead *h, const struct upgrade_rules *r,
    char why[UPGRADE_WHY_MAX])
{
	why[0] = '\0';
	if (h->kind == HTTPHEAD_ERROR && h->status == 403)
		upgrade_explain(h, why);
	if (r->refuse != 0) {
		h->kind = HTTPHEAD_ERROR;
		h->status = r->refuse;
		snprintf(why, UPGRADE_WHY_MAX, "%s", r->why != NULL ? r->why :
		    "");
	}
	if (h->kind == HTTPHEAD_READY && r->unready[0] != '\0') {
		h->kind = HTTPHEAD_ERROR;
		h->status = 503;
		snprintf(why, UPGRADE_WHY_MAX, "%s", r->unready);
	}
}

/* Answer anything but an upgrade. */
static void
upgrade_answer(int fd, const struct httphead *h, const char *why,
    uint64_t deadline)
{
	char	 text[ANSWER_MAX];
	size_t	 n;

	n = httphead_answer(h->kind == HTTPHEAD_ERROR ? h->status : 200,
	    why, h->is_head, text, sizeof(text));
	if (iodeadline_send(fd, text, n, deadline) == 0)
		iodeadline_linger(fd);
}

/* 0, or -1: no figures. */
static int
answer_metrics(int fd, const struct httphead *h, uint64_t deadline,
    const Ipc__Figures *f)
{
	char		 head[ANSWER_MAX];
	struct buf	 b;
	size_t		 n;
	int		 r;

	buf_init(&b, METRICS_MAX);
	if ((r = openmetrics_put(&b, f)) == 0) {
		n = httphead_page(OPENMETRICS_TYPE, b.len, head, sizeof(head));
		if (iodeadline_send(fd, head, n, deadline) == 0 &&
		    (h->is_head ||
		    iodeadline_send(fd, (const char *)buf_data(&b), b.len,
		    deadline) == 0))
			iodeadline_linger(fd);
	}
	buf_fini(&b);
	return r;
}

void
upgrade_metrics(int fd, const struct upgrade_rules *r, const Ipc__Figures *f)
{
	char		 head[HTTPHEAD_MAX + 1], why[UPGRADE_WHY_MAX];
	uint64_t	 deadline = clock_ms() + r->ms;
	struct httphead	 h;
	size_t		 len;

	if ((len = upgrade_read_head(fd, head, deadline)) == 0)
		return;
	httphead_judge_metrics(head, len, r->hosts, r->nhosts, &h);
	upgrade_judge(&h, r, why);
	if (h.kind == HTTPHEAD_METRICS) {
		if (answer_metrics(fd, &h, deadline, f) == 0)
			return;
		h.kind = HTTPHEAD_ERROR;
		h.status = 500;
	}
	upgrade_answer(fd, &h, why, deadline);
}

enum upgraded
upgrade(int fd, const struct upgrade_rules *r)
{
	char		 head[HTTPHEAD_MAX + 1], text[ANSWER_MAX];
	char		 why[UPGRADE_WHY_MAX];
	uint64_t	 deadline = clock_ms() + r->ms;
	struct httphead	 h;
	bool		 is_admitted = false;
	size_t		 len, n;
	int		 status;

	if ((len = upgrade_read_head(fd, head, deadline)) == 0)
		return UPGRADE_ANSWERED;
	httphead_judge(head, len, r->hosts, r->nhosts, &h);
	upgrade_judge(&h, r, why);
	if (h.kind == HTTPHEAD_UPGRADE && r->asking != IPC__ASKING__NEVER &&
	    (status = upgrade_ask(r, &h, deadline, &is_admitted, why)) != 0) {
		h.kind = HTTPHEAD_ERROR;
		h.status = status;
	}
	if (h.kind == HTTPHEAD_UPGRADE) {
		n = httphead_switch(&h, text, sizeof(text));
		if (iodeadline_send(fd, text, n, deadline) == -1)
			return UPGRADE_ANSWERED;
		return is_admitted ? UPGRADE_ADMITTED : UPGRADE_UPGRADED;
	}
	upgrade_answer(fd, &h, why, deadline);
	return UPGRADE_ANSWERED;
}
