#include "master/hub/relay/door.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "master/hub/relay/proxyv2.h"

#define READ_ROOM	4096
#define TURN_MS		500
#define ANSWER_MAX	1024	/* bytes of an answer's head */

static const struct {
	int		 status;
	const char	*reason;
} reasons[] = {
	{ 200, "OK" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
	{ 403, "Forbidden" }, { 404, "Not Found" },
	{ 405, "Method Not Allowed" }, { 408, "Request Timeout" },
	{ 409, "Conflict" }, { 411, "Length Required" },
	{ 413, "Content Too Large" }, { 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 503, "Service Unavailable" }, { 505, "HTTP Version Not Supported" },
};

static void	 door_on_readable(void *arg);
static void	 door_on_nothing(void *arg);
static void	 door_on_broken(void *arg);

static const struct hubconn_events door_conn_events = {
	.on_readable = door_on_readable,
	.on_drained = door_on_nothing,
	.on_broken = door_on_broken,
};

/* --- all of them --- */

/* The head, its TLS and its body have one time limit. */
static void
doors_on_turn(void *arg)
{
	struct doors	*all = arg;
	struct door	*d;
	uint64_t	 now = clock_ms();

	while ((d = TAILQ_FIRST(&all->open)) != NULL &&
	    now - d->since >= LIMIT_HUB_HEAD) {
		all->counts.timeouts++;
		door_free(&d);
	}
	timer_set(&all->timer, TURN_MS);
}

void
doors_init(struct doors *all, struct hubconn_loop *loop,
    const struct door_events *e, void *arg)
{
	memset(all, 0, sizeof(*all));
	all->loop = loop;
	all->events = e;
	all->arg = arg;
	TAILQ_INIT(&all->open);
	timer_init(&all->timer, loop->base, doors_on_turn, all);
	timer_set(&all->timer, TURN_MS);
}

void
doors_fini(struct doors *all)
{
	struct door	*d;

	timer_stop(&all->timer);
	while ((d = TAILQ_FIRST(&all->open)) != NULL)
		door_free(&d);
}

/* --- one --- */

int
door_open(struct doors *all, int fd, SSL_CTX *tls, bool wants_proxy,
    bool is_metrics, const char *address)
{
	struct door	*d, *oldest;

	if ((d = calloc(1, sizeof(*d))) == NULL)
		return -1;
	if ((d->conn = hubconn_new(all->loop, fd, tls)) == NULL) {
		free(d);
		return -1;
	}
	hubconn_own(d->conn, &door_conn_events, d);
	d->all = all;
	d->since = clock_ms();
	d->wants_proxy = wants_proxy;
	d->is_metrics = is_metrics;
	buf_init(&d->in, PROXYV2_MAX + HTTPHEAD_MAX + LIMIT_HUB_BODY +
	    READ_ROOM);
	snprintf(d->address, sizeof(d->address), "%s", address);
	TAILQ_INSERT_TAIL(&all->open, d, entry);
	all->n++;
	all->counts.accepted++;
	if (all->n > all->max && (oldest = TAILQ_FIRST(&all->open)) != d) {
		all->counts.crowded++;
		door_free(&oldest);
	}
	return 0;
}

void
door_free(struct door **dp)
{
	struct door	*d = *dp;

	assert(d->all->n > 0);
	*dp = NULL;
	if (d->cancel != NULL)
		d->cancel(d->cancel_arg);
	TAILQ_REMOVE(&d->all->open, d, entry);
	d->all->n--;
	hubconn_free(&d->conn);
	if (d->in.base != NULL)
		explicit_bzero(d->in.base, d->in.cap);
	buf_fini(&d->in);
	free(d);
}

void
door_wait(struct door *d, void (*fn)(void *), void *arg)
{
	assert(d->is_asked && d->conn != NULL && d->cancel == NULL);
	d->cancel = fn;
	d->cancel_arg = arg;
}

/* --- answers --- */

static const char *
door_reason(int status)
{
	size_t	 i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Error";
}

void
door_answer(struct door **dp, int status, const char *lines, const char *type,
    const void *body, size_t len)
{
	struct door	*d = *dp;
	char		 head[ANSWER_MAX];
	struct iovec	 iov[2];
	int		 n;

	assert(d->conn != NULL);
	n = snprintf(head, sizeof(head), "HTTP/1.1 %d %s\r\n"
	    "Content-Type: %s\r\nContent-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n%sConnection: close\r\n\r\n", status,
	    door_reason(status), type != NULL ? type : "application/json", len,
	    lines != NULL ? lines : "");
	assert(n > 0 && (size_t)n < sizeof(head));
	iov[0] = (struct iovec){ head, (size_t)n };
	iov[1] = (struct iovec){ (void *)(uintptr_t)body,
	    span_is(d->request.method, "HEAD") ? 0 : len };
	hubconn_write(d->conn, iov, 2);
	hubconn_finish(&d->conn);
	d->cancel = NULL;
	door_free(dp);
}

void
door_error(struct door **dp, int status, const char *lines, const char *code,
    const char *message)
{
	struct json_out	 o;
	struct buf	 b;

	buf_init(&b, ANSWER_MAX);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_key(&o, "error");
	json_out_open(&o, '{');
	json_out_pair(&o, "code", code);
	json_out_pair(&o, "message", message);
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	/* Without memory the status has to do. */
	door_answer(dp, status, lines, NULL, buf_data(&b),
	    json_out_fini(&o) == 0 ? b.len : 0);
	buf_fini(&b);
}

struct hubconn *
door_upgrade(struct door *d, struct span *rest_out)
{
	struct hubconn	*c = d->conn;
	char		 answer[ANSWER_MAX];
	struct iovec	 iov = { answer, httphead_switch_key(d->request.key,
			    answer, sizeof(answer)) };

	assert(d->is_asked && c != NULL && d->head <= d->in.len);
	hubconn_write(c, &iov, 1);
	rest_out->at = (const char *)buf_data(&d->in) + d->head;
	rest_out->len = d->in.len - d->head;
	d->conn = NULL;
	d->cancel = NULL;
	return c;
}

struct hubconn *
door_take(struct door *d)
{
	struct hubconn	*c = d->conn;

	assert(d->is_asked && c != NULL);
	d->conn = NULL;
	d->cancel = NULL;
	return c;
}

/* --- requests --- */

/* Read the address that a proxy says.  False: incomplete, or it is over. */
static bool
door_take_proxy(struct door *d)
{
	char	 address[INET6_ADDRSTRLEN];
	long	 n = proxyv2_read(buf_data(&d->in), d->in.len, address);

	if (n == -1) {
		d->all->counts.malformed++;
		door_free(&d);
		return false;
	}
	if (n == 0)
		return false;
	if (address[0] != '\0')
		snprintf(d->address, sizeof(d->address), "%s", address);
	buf_drain(&d->in, (size_t)n);
	d->wants_proxy = false;
	return d->in.len > 0;
}

/* Once the head is complete nothing moves in the buffer any more. */
static bool
door_take_head(struct door *d)
{
	static const char	 go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const char		*text = (const char *)buf_data(&d->in);
	struct iovec		 iov = { (void *)(uintptr_t)go_on,
				    strlen(go_on) };
	int			 status;

	if ((d->head = httphead_end(text, d->in.len)) == 0)
		return false;
	status = httphead_request(text, d->head, &d->request);
	if (status == 0 && d->request.body > LIMIT_HUB_BODY)
		status = 413;
	if (status != 0) {
		d->all->counts.malformed++;
		door_error(&d, status, NULL, "invalid_request",
		    "the request is malformed");
		return false;
	}
	if (d->request.wants_continue && d->request.body > 0)
		hubconn_write(d->conn, &iov, 1);
	return true;
}

static void
door_process(struct door *d)
{
	const char	*text;

	assert(!d->is_asked && d->conn != NULL);
	if (d->wants_proxy && !door_take_proxy(d))
		return;
	if (d->head == 0 && !door_take_head(d))
		return;
	if (d->in.len < d->head + d->request.body)
		return;
	text = (const char *)buf_data(&d->in);
	/* The body may have moved the head. */
	if (d->request.method.at != text && httphead_request(text, d->head,
	    &d->request) != 0) {
		door_free(&d);
		return;
	}
	d->body = (struct span){ text + d->head, d->request.body };
	d->is_asked = true;
	d->all->counts.requests++;
	d->all->events->on_request(d->all->arg, d);
}

static void
door_on_readable(void *arg)
{
	struct door	*d = arg;
	char		 nothing[64];
	void		*room;
	ssize_t		 n;

	if (d->is_asked) {
		/* It may leave; what it says is none of our business. */
		if (hubconn_read(d->conn, nothing, sizeof(nothing)) == -1)
			door_free(&d);
		return;
	}
	if ((room = buf_reserve(&d->in, READ_ROOM)) == NULL ||
	    (n = hubconn_read(d->conn, room, READ_ROOM)) == -1) {
		door_free(&d);
		return;
	}
	if (n == 0)
		return;
	buf_commit(&d->in, (size_t)n);
	door_process(d);
}

static void
door_on_nothing(void *arg)
{
	(void)arg;
}

static void
door_on_broken(void *arg)
{
	struct door	*d = arg;

	door_free(&d);
}
