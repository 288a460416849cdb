#include "worker/proxy/helper/proxy_names.h"

#include <sys/queue.h>
#include <sys/socket.h>

#include <netinet/in.h>

#include <ares.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/limit.h"
#include "common/log.h"

#define TIMEOUT_MS	2000	/* of the first try; doubles */
#define TRIES		3
#define REREAD_MS	5000	/* before resolv.conf is read again */

/* A descriptor that c-ares watches. */
struct names_io {
	TAILQ_ENTRY(names_io)	 entry;
	struct proxy_names	*names;
	ares_socket_t		 fd;
	struct io		 rd, wr;
};

struct proxy_names {
	struct event_base	*base;
	ares_channel		 chan;		/* NULL: not needed yet */
	uint64_t		 read_at;	/* ms, resolv.conf */
	TAILQ_HEAD(, names_io)	 ios;
	TAILQ_HEAD(, proxy_query) queries;
	struct timer		 timer;		/* of c-ares */
};

struct proxy_query {
	TAILQ_ENTRY(proxy_query) entry;
	struct proxy_names	*names;
	proxy_names_fn		*fn;		/* NULL: cancelled */
	void			*arg;
	bool			 is_done;	/* c-ares has forgotten it */
	struct timer		 timer;
	struct netaddr		 list[PROXY_NAMES_MAX];
	size_t			 n;
};

/* --- c-ares in the event loop --- */

static void
names_arm(struct proxy_names *n)
{
	struct timeval	 tv, *next;

	if (n->chan == NULL ||
	    (next = ares_timeout(n->chan, NULL, &tv)) == NULL)
		timer_stop(&n->timer);
	else
		timer_set(&n->timer, (uint64_t)next->tv_sec * 1000 +
		    (uint64_t)next->tv_usec / 1000 + 1);
}

static void
names_on_timer(void *arg)
{
	struct proxy_names	*n = arg;

	ares_process_fd(n->chan, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	names_arm(n);
}

/* c-ares may close the descriptor and free w in these calls. */
static void
names_on_read(void *arg)
{
	struct names_io		*w = arg;
	struct proxy_names	*n = w->names;

	ares_process_fd(n->chan, w->fd, ARES_SOCKET_BAD);
	names_arm(n);
}

static void
names_on_write(void *arg)
{
	struct names_io		*w = arg;
	struct proxy_names	*n = w->names;

	ares_process_fd(n->chan, ARES_SOCKET_BAD, w->fd);
	names_arm(n);
}

static void
names_io_free(struct names_io *w)
{
	TAILQ_REMOVE(&w->names->ios, w, entry);
	io_stop(&w->rd);
	io_stop(&w->wr);
	free(w);
}

static struct names_io *
names_io_new(struct proxy_names *n, ares_socket_t fd)
{
	struct names_io	*w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	w->names = n;
	w->fd = fd;
	io_init(&w->rd, n->base, fd, EV_READ | EV_PERSIST, names_on_read, w);
	io_init(&w->wr, n->base, fd, EV_WRITE | EV_PERSIST, names_on_write,
	    w);
	TAILQ_INSERT_TAIL(&n->ios, w, entry);
	return w;
}

/* c-ares watches a descriptor for something, or no more. */
static void
names_on_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct proxy_names	*n = arg;
	struct names_io		*w;

	TAILQ_FOREACH(w, &n->ios, entry)
		if (w->fd == fd)
			break;
	if (!readable && !writable) {
		if (w != NULL)
			names_io_free(w);
		return;
	}
	/* Without memory the query times out. */
	if (w == NULL && (w = names_io_new(n, fd)) == NULL)
		return;
	if (readable ? io_start(&w->rd) == -1 : (io_stop(&w->rd), 0))
		log_warn("name service");
	if (writable ? io_start(&w->wr) == -1 : (io_stop(&w->wr), 0))
		log_warn("name service");
}

/* Read resolv.conf when it may have changed, unless something is under way. */
static int
names_ready(struct proxy_names *n)
{
	struct ares_options	 o;
	uint64_t		 now = clock_ms();

	if (n->chan != NULL && (!TAILQ_EMPTY(&n->queries) ||
	    now - n->read_at < REREAD_MS))
		return 0;
	if (n->chan != NULL)
		ares_destroy(n->chan);
	n->chan = NULL;
	memset(&o, 0, sizeof(o));
	o.timeout = TIMEOUT_MS;
	o.tries = TRIES;
	o.sock_state_cb = names_on_socket;
	o.sock_state_cb_data = n;
	n->read_at = now;
	if (ares_init_options(&n->chan, &o, ARES_OPT_TIMEOUTMS |
	    ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB) == ARES_SUCCESS)
		return 0;
	n->chan = NULL;
	return -1;
}

/* --- queries --- */

static void
proxy_query_free(struct proxy_query *q)
{
	TAILQ_REMOVE(&q->names->queries, q, entry);
	timer_stop(&q->timer);
	free(q);
}

/* Time is up, or (timer at 0) the answer is there. */
static void
query_on_timer(void *arg)
{
	struct proxy_query	*q = arg;
	proxy_names_fn		*fn = q->fn;
	struct netaddr		 list[PROXY_NAMES_MAX];
	void			*fn_arg = q->arg;
	size_t			 n = q->is_done ? q->n : 0;

	memcpy(list, q->list, sizeof(list));
	q->fn = NULL;
	if (q->is_done)
		proxy_query_free(q);
	if (fn != NULL)
		fn(fn_arg, list, n);
}

static void
take_addresses(struct proxy_query *q, const struct ares_addrinfo *ai)
{
	const struct ares_addrinfo_node	*a;
	struct netaddr			*to;

	assert(q->n == 0);
	for (a = ai->nodes; a != NULL && q->n < PROXY_NAMES_MAX;
	    a = a->ai_next) {
		to = &q->list[q->n];
		if (a->ai_family == AF_INET)
			memcpy(to->byte, &((const struct sockaddr_in *)
			    (const void *)a->ai_addr)->sin_addr, 4);
		else if (a->ai_family == AF_INET6)
			memcpy(to->byte, &((const struct sockaddr_in6 *)
			    (const void *)a->ai_addr)->sin6_addr, 16);
		else
			continue;
		to->family = a->ai_family;
		q->n++;
	}
}

static void
query_on_answer(void *arg, int status, int timeouts,
    struct ares_addrinfo *ai)
{
	struct proxy_query	*q = arg;

	(void)timeouts;
	assert(!q->is_done);
	q->is_done = true;
	if (status == ARES_SUCCESS && ai != NULL)
		take_addresses(q, ai);
	if (ai != NULL)
		ares_freeaddrinfo(ai);
	/* In the next turn, also to free a cancelled one: not in c-ares. */
	timer_set(&q->timer, 0);
}

struct proxy_query *
proxy_names_find(struct proxy_names *n, const char *name, proxy_names_fn *fn,
    void *arg)
{
	struct ares_addrinfo_hints	 hints;
	struct proxy_query		*q;

	if (names_ready(n) == -1 || (q = calloc(1, sizeof(*q))) == NULL)
		return NULL;
	q->names = n;
	q->fn = fn;
	q->arg = arg;
	timer_init(&q->timer, n->base, query_on_timer, q);
	timer_set(&q->timer, LIMIT_NET_RESOLVE);
	TAILQ_INSERT_TAIL(&n->queries, q, entry);
	memset(&hints, 0, sizeof(hints));
	hints.ai_family = AF_UNSPEC;
	hints.ai_socktype = SOCK_STREAM;
	ares_getaddrinfo(n->chan, name, NULL, &hints, query_on_answer, q);
	names_arm(n);
	return q;
}

void
proxy_names_cancel(struct proxy_query **qp)
{
	struct proxy_query	*q = *qp;

	*qp = NULL;
	if (q != NULL)
		q->fn = NULL;
}

struct proxy_names *
proxy_names_new(struct event_base *base)
{
	struct proxy_names	*n;

	if ((n = calloc(1, sizeof(*n))) == NULL)
		return NULL;
	n->base = base;
	TAILQ_INIT(&n->ios);
	TAILQ_INIT(&n->queries);
	timer_init(&n->timer, base, names_on_timer, n);
	return n;
}

void
proxy_names_free(struct proxy_names **np)
{
	struct proxy_names	*n = *np;
	struct proxy_query	*q;

	*np = NULL;
	if (n == NULL)
		return;
	/* Answers all queries. */
	if (n->chan != NULL)
		ares_destroy(n->chan);
	while ((q = TAILQ_FIRST(&n->queries)) != NULL)
		proxy_query_free(q);
	timer_stop(&n->timer);
	free(n);
}
