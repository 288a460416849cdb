#include "master/hub/fleet/hubsplice.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/hub/relay/hubdial.h"
#include "master/hub/relay/proxyv2.h"

#define MARK	"X-Execsrv-Hop:"
#define LAST	" 1\r\n\r\n"	/* of its value, and of the head */

struct hubsplice_end {
	struct hubsplice	*splice;
	struct hubsplice_end	*other;
	struct hubconn		*conn;
	bool			 is_paused;
};

struct hubsplice {
	LIST_ENTRY(hubsplice)	 entry;
	struct hubsplices	*all;
	struct door		*door;		/* until the other answers */
	struct hubsplice_to	 to;
	struct hubsplice_end	 near, far;
	struct timer		 late;
};

static void	 hubsplice_on_readable(void *arg);
static void	 hubsplice_on_drained(void *arg);
static void	 hubsplice_on_broken(void *arg);

static const struct hubconn_events hubsplice_events = {
	.on_readable = hubsplice_on_readable,
	.on_drained = hubsplice_on_drained,
	.on_broken = hubsplice_on_broken,
};

int
hubsplice_parse(struct hubsplice_to *to, const char *url)
{
	struct endpoint	 ep;

	memset(to, 0, sizeof(*to));
	if (strncmp(url, "https://", 8) == 0)
		to->is_tls = true;
	else if (strncmp(url, "http://", 7) != 0)
		return -1;
	url = strstr(url, "://") + 3;
	if (strchr(url, '/') != NULL ||
	    endpoint_parse_tcp(&ep, url) != ENDPOINT_OK || ep.port == 0)
		return -1;
	snprintf(to->host, sizeof(to->host), "%s", ep.host);
	to->port = ep.port;
	return 0;
}

bool
hubsplice_is_sent_on(const struct door *d)
{
	const char	*at = (const char *)buf_data(&d->in);
	const char	*end = at + d->head;

	/* A proxy between hubs may write names in its own way. */
	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL)
		if ((size_t)(end - ++at) >= strlen(MARK) &&
		    strncasecmp(at, MARK, strlen(MARK)) == 0)
			return true;
	return false;
}

/* --- life --- */

void
hubsplices_init(struct hubsplices *all, struct hubconn_loop *conns)
{
	all->conns = conns;
	all->n = 0;
	all->bytes = 0;
	memset(&all->said, 0, sizeof(all->said));
	LIST_INIT(&all->open);
}

/* End it; what was sent to the end that is left is still delivered. */
static void
hubsplice_free(struct hubsplice *s, struct hubsplice_end *left)
{
	if (left != NULL && left->conn != NULL)
		hubconn_finish(&left->conn);
	assert(s->all->n > 0);
	hubconn_free(&s->near.conn);
	hubconn_free(&s->far.conn);
	timer_stop(&s->late);
	LIST_REMOVE(s, entry);
	s->all->n--;
	free(s);
}

void
hubsplices_fini(struct hubsplices *all)
{
	struct hubsplice	*s;

	while ((s = LIST_FIRST(&all->open)) != NULL)
		hubsplice_free(s, NULL);
}

/* The other hub was not reached: what is wrong, who runs it should know. */
static void
hubsplice_fail(struct hubsplice *s, const char *why)
{
	struct door	*d = s->door;
	char		 text[256];

	assert(d != NULL && s->near.conn == NULL);
	snprintf(text, sizeof(text), "hub at %s:%u: %s", s->to.host,
	    s->to.port, why);
	if (repeat_is_due(&s->all->said, text, clock_ms()))
		log_warnx("%s", text);
	d->cancel = NULL;
	hubsplice_free(s, NULL);
	door_error(&d, 503, "Retry-After: 1\r\n", "unavailable",
	    "the hub of its executor cannot be reached");
}

static void
hubsplice_on_late(void *arg)
{
	hubsplice_fail(arg, strerror(ETIMEDOUT));
}

/* It ended before it has answered. */
static const char *
hubsplice_why(const struct hubsplice *s)
{
	return s->to.is_tls && !hubconn_is_secure(s->far.conn) ?
	    "no connection, or its certificate is not by CaFile, or not for "
	    "the name of FleetUrl" : "no connection";
}

static void
hubsplice_on_left(void *arg)
{
	struct hubsplice	*s = arg;

	assert(s->near.conn == NULL);
	hubsplice_free(s, NULL);
}

/* --- bytes --- */

/* The other hub has begun to answer: from here on it is one connection. */
static void
hubsplice_join(struct hubsplice *s)
{
	assert(s->near.conn == NULL && !s->far.is_paused);
	timer_stop(&s->late);
	repeat_end(&s->all->said);
	s->near.conn = door_take(s->door);
	door_free(&s->door);
	hubconn_own(s->near.conn, &hubsplice_events, &s->near);
	hubconn_look(s->near.conn);
}

static void
hubsplice_on_readable(void *arg)
{
	struct hubsplice_end	*from = arg;
	struct hubsplice	*s = from->splice;
	struct hubsplices	*all = s->all;
	ssize_t			 n;

	if ((n = hubconn_read(from->conn, all->room, sizeof(all->room))) ==
	    -1) {
		if (s->door != NULL)
			hubsplice_fail(s, hubsplice_why(s));
		else
			hubsplice_free(s, from->other);
		return;
	}
	if (n == 0)
		return;
	if (s->door != NULL)
		hubsplice_join(s);
	all->bytes += (uint64_t)n;
	hubconn_write(from->other->conn, &(struct iovec){ all->room,
	    (size_t)n }, 1);
	if (!from->is_paused &&
	    hubconn_queued(from->other->conn) > LIMIT_HUB_UNSENT) {
		from->is_paused = true;
		hubconn_pause(from->conn);
	}
}

static void
hubsplice_on_drained(void *arg)
{
	struct hubsplice_end	*to = arg, *from = to->other;

	if (from->is_paused &&
	    hubconn_queued(to->conn) <= LIMIT_HUB_UNSENT / 2) {
		from->is_paused = false;
		hubconn_resume(from->conn);
	}
}

static void
hubsplice_on_broken(void *arg)
{
	struct hubsplice_end	*end = arg;
	struct hubsplice	*s = end->splice;

	if (s->door != NULL)
		hubsplice_fail(s, hubsplice_why(s));
	else
		hubsplice_free(s, end->other);
}

/* --- beginning --- */

/* The head as it came, and a line more, so that it is sent on but once. */
static void
hubsplice_send_head(struct hubsplice *s, bool is_proxied)
{
	const struct door	*d = s->door;
	char			*head = (char *)buf_data(&d->in);
	uint8_t			 source[PROXYV2_WRITTEN];
	struct iovec		 iov[4];
	int			 n = 0;

	assert(d->head > 2);
	if (is_proxied)
		iov[n++] = (struct iovec){ source, proxyv2_write(d->address,
		    source) };
	iov[n++] = (struct iovec){ head, d->head - 2 };
	iov[n++] = (struct iovec){ (void *)(uintptr_t)(MARK LAST),
	    strlen(MARK LAST) };
	iov[n++] = (struct iovec){ head + d->head, d->in.len - d->head };
	hubconn_write(s->far.conn, iov, n);
}

void
hubsplice_start(struct hubsplices *all, struct door **dp,
    const struct hubsplice_to *to, SSL_CTX *tls, const char *name)
{
	struct hubsplice	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL) {
		door_error(dp, 503, "Retry-After: 5\r\n", "unavailable",
		    "out of memory");
		return;
	}
	s->all = all;
	s->to = *to;
	s->door = *dp;
	*dp = NULL;
	s->near = (struct hubsplice_end){ .splice = s, .other = &s->far };
	s->far = (struct hubsplice_end){ .splice = s, .other = &s->near };
	timer_init(&s->late, all->conns->base, hubsplice_on_late, s);
	LIST_INSERT_HEAD(&all->open, s, entry);
	all->n++;
	door_wait(s->door, hubsplice_on_left, s);
	if (hubdial(all->conns, to->host, to->port, &s->far.conn) == -1) {
		hubsplice_fail(s, strerror(errno));
		return;
	}
	hubconn_own(s->far.conn, &hubsplice_events, &s->far);
	if (to->is_tls && (tls == NULL || hubconn_secure(s->far.conn, tls,
	    name) == -1)) {
		hubsplice_fail(s, "no TLS");
		return;
	}
	timer_set(&s->late, LIMIT_HUB_SPLICE);
	hubsplice_send_head(s, to->is_proxied);
}
