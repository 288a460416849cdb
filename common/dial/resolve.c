#include "common/dial/resolve.h"

#include <sys/queue.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"

#define FRESH_MS	10000	/* that a cached answer is used for */
#define CACHE_MAX	4	/* names in the cache */

struct resolve_query {
	TAILQ_ENTRY(resolve_query)	 entry;
	struct resolver			*resolver;
	uint32_t			 number;
	char				 host[RESOLVE_HOST + 1];
	struct resolve_answer		 copy;
	void				(*on_answer)(void *,
					    const struct resolve_answer *);
	void				*arg;
	struct wsloop_timer		 soon;
};

struct cached {
	char			 host[RESOLVE_HOST + 1];
	uint64_t		 until;
	struct resolve_answer	 answer;
};

struct resolver {
	struct wsloop			*loop;
	int				 sock;
	struct wswatch			*watch;
	bool				 is_gone;
	void				(*on_gone)(void *);
	void				*arg;
	uint32_t			 last;
	TAILQ_HEAD(, resolve_query)	 queries;
	struct cached			 cache[CACHE_MAX];
	unsigned			 next_cached;
};

struct resolver *
resolver_start(int (*confine_self)(void))
{
	struct resolve_how	 how = { .role = "resolver",
				    .confine_self = confine_self };
	struct resolver		*r;

	if ((r = calloc(1, sizeof(*r))) == NULL ||
	    (r->sock = resolve_process(&how)) == -1) {
		log_warn("resolver");
		free(r);
		return NULL;
	}
	TAILQ_INIT(&r->queries);
	return r;
}

static void
query_free(struct resolve_query *w)
{
	TAILQ_REMOVE(&w->resolver->queries, w, entry);
	wsloop_timer_clear(w->resolver->loop, &w->soon);
	free(w);
}

void
resolve_cancel(struct resolve_query **qp)
{
	if (*qp != NULL)
		query_free(*qp);
	*qp = NULL;
}

static void
query_answer(struct resolve_query *w, const struct resolve_answer *a)
{
	void	(*fn)(void *, const struct resolve_answer *) = w->on_answer;
	void	*arg = w->arg;

	assert(fn != NULL);
	query_free(w);
	fn(arg, a);
}

static struct cached *
find_cached(struct resolver *r, const char *host)
{
	unsigned	 i;

	for (i = 0; i < CACHE_MAX; i++)
		if (strcmp(r->cache[i].host, host) == 0)
			return &r->cache[i];
	return NULL;
}

static void
resolve_remember(struct resolver *r, const char *host,
    const struct resolve_answer *a)
{
	struct cached	*k = find_cached(r, host);

	assert(a->n <= RESOLVE_MAX && strlen(host) <= RESOLVE_HOST);
	if (a->n == 0)
		return;
	if (k == NULL)
		k = &r->cache[r->next_cached++ % CACHE_MAX];
	strcpy(k->host, host);		/* of the same size */
	k->until = clock_ms() + FRESH_MS;
	k->answer = *a;
}

static void
on_reply(struct resolver *r, const struct resolve_reply *reply)
{
	struct resolve_query	*w;

	TAILQ_FOREACH(w, &r->queries, entry)
		if (w->number == reply->number) {
			resolve_remember(r, w->host, &reply->answer);
			query_answer(w, &reply->answer);
			return;
		}
}

/* Answer from the cache, or a numeric address; false: ask the process. */
static bool
resolve_from_cache(struct resolver *r, const char *host,
    struct resolve_answer *a)
{
	struct in6_addr	 address;
	struct cached	*k = find_cached(r, host);

	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, host, &address) == 1 ||
	    inet_pton(AF_INET6, host, &address) == 1) {
		a->n = 1;
		strncpy(a->address[0], host, RESOLVE_TEXT - 1);
		return true;
	}
	if (k == NULL || (clock_ms() >= k->until && !r->is_gone))
		return false;
	*a = k->answer;
	return true;
}

static void
on_soon(void *arg)
{
	struct resolve_query	*w = arg;
	struct resolve_answer	 a = w->copy;

	query_answer(w, &a);
}

/* New names are not found any more; connections stay. */
static void
resolve_on_hangup(void *arg)
{
	struct resolver		*r = arg;
	struct resolve_query	*w;

	if (r->is_gone)
		return;
	log_warnx("the resolver process died");
	r->is_gone = true;
	assert(r->on_gone != NULL);
	wswatch_read(r->watch, false);
	TAILQ_FOREACH(w, &r->queries, entry) {
		(void)resolve_from_cache(r, w->host, &w->copy);
		wsloop_timer_set(r->loop, &w->soon, 0, on_soon, w);
	}
	r->on_gone(r->arg);
}

/* libwebsockets reports no hang-up while there is something to read. */
static void
resolve_on_readable(void *arg)
{
	struct resolver		*r = arg;
	struct resolve_reply	 reply;
	int			 got;

	if ((got = resolve_take(r->sock, &reply)) == -1)
		resolve_on_hangup(r);
	if (got == 1)
		on_reply(r, &reply);
}

static void
resolve_on_writable(void *arg)
{
	(void)arg;
}

static const struct wswatch_events events = {
	resolve_on_readable, resolve_on_writable, resolve_on_hangup
};

int
resolver_attach(struct resolver *r, struct wsloop *l,
    void (*on_gone)(void *arg), void *arg)
{
	assert(r->loop == NULL && r->watch == NULL);
	r->loop = l;
	r->on_gone = on_gone;
	r->arg = arg;
	r->watch = wswatch_new(l, r->sock, &events, r);
	return r->watch == NULL ? -1 : 0;
}

bool
resolver_is_gone(const struct resolver *r)
{
	return r->is_gone;
}

void
resolver_free(struct resolver **rp)
{
	struct resolver	*r = *rp;

	*rp = NULL;
	if (r == NULL)
		return;
	while (!TAILQ_EMPTY(&r->queries))
		query_free(TAILQ_FIRST(&r->queries));
	wswatch_free(&r->watch);
	fd_close(&r->sock);
	free(r);
}

struct resolve_query *
resolve(struct resolver *r, const char *host,
    void (*on_answer)(void *arg, const struct resolve_answer *a), void *arg)
{
	struct resolve_query	*w;
	struct resolve_question	 q;

	assert(r->loop != NULL && on_answer != NULL);
	memset(&q, 0, sizeof(q));
	if (strlen(host) > RESOLVE_HOST) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	w->resolver = r;
	w->on_answer = on_answer;
	w->arg = arg;
	strcpy(w->host, host);
	TAILQ_INSERT_TAIL(&r->queries, w, entry);
	if (resolve_from_cache(r, host, &w->copy) || r->is_gone) {
		wsloop_timer_set(r->loop, &w->soon, 0, on_soon, w);
		return w;
	}
	q.number = w->number = ++r->last;
	strcpy(q.host, host);
	if (send(r->sock, &q, sizeof(q), MSG_NOSIGNAL) == (ssize_t)sizeof(q))
		return w;
	/* The process has just died: resolve_on_hangup() follows. */
	if (errno == EPIPE || errno == ECONNRESET)
		wsloop_timer_set(r->loop, &w->soon, 0, on_soon, w);
	else
		resolve_cancel(&w);
	return w;
}
