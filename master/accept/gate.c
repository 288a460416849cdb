#include "master/accept/gate.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/linux/crowd.h"
#include "common/log.h"
#include "master/accept/child_assign.h"
#include "master/auth/userdb.h"
#include "master/workers/pool.h"
#include "master/world.h"

#define CROWD_MAX	10	/* times LIMIT_STARTUPS_PATIENCE */

/* The counts of an address of a user, or of a user in all. */
struct source {
	struct map_node	 node;
	struct source	*user;		/* of an address; else NULL */
	char		 key[2 * PEER_TEXT_MAX];
	unsigned	 greeting;
	unsigned	 waiting;
};

/* A waiting connection. */
struct waiting {
	TAILQ_ENTRY(waiting)	 entry;
	int			 fd;
	int			 refuse;
	struct peer		 peer;
	struct source		*source;
	const Ipc__User		*user;		/* while it is assigned */
	bool			 full;
	bool			 greeted;
	size_t			 len;		/* of the first message */
	char			 message[];
};

struct gate {
	struct world		*world;
	struct userdb		*users;
	struct assigner		*assigner;
	TAILQ_HEAD(, waiting)	 waiting;
	struct child_list	 greeted;	/* oldest first */
	size_t			 ngreeted, nwaiting;
	struct map		 sources;
	struct timer		 patience_ev;
};

static void	 gate_on_timeout(void *);

bool
gate_drops(unsigned n, unsigned drawn)
{
	unsigned	 p;

	if (n < LIMIT_STARTUPS_BEGIN)
		return false;
	if (n >= LIMIT_STARTUPS_FULL)
		return true;
	p = LIMIT_STARTUPS_RATE + (100 - LIMIT_STARTUPS_RATE) *
	    (n - LIMIT_STARTUPS_BEGIN) /
	    (LIMIT_STARTUPS_FULL - LIMIT_STARTUPS_BEGIN);
	return drawn < p;
}

struct gate *
gate_new(struct world *w, struct userdb *users, struct assigner *assigner)
{
	struct gate	*g;

	if ((g = calloc(1, sizeof(*g))) == NULL)
		return NULL;
	g->world = w;
	g->users = users;
	g->assigner = assigner;
	TAILQ_INIT(&g->waiting);
	TAILQ_INIT(&g->greeted);
	map_init(&g->sources);
	timer_init(&g->patience_ev, w->base, gate_on_timeout, g);
	return g;
}

static struct source *
gate_find_or_add(struct gate *g, const char *key, size_t len)
{
	struct source	*s;

	assert(len <= sizeof(s->key));
	if ((s = map_find(&g->sources, key, len)) != NULL)
		return s;
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	memcpy(s->key, key, len);
	if (map_add(&g->sources, &s->node, s->key, len, s) == -1) {
		free(s);
		return NULL;
	}
	return s;
}

static void
source_put(struct gate *g, struct source *s)
{
	struct source	*user = s->user;

	assert(user == NULL || user->greeting >= s->greeting);
	assert(user == NULL || user->waiting >= s->waiting);
	if (s->greeting > 0 || s->waiting > 0)
		return;
	map_del(&g->sources, &s->node);
	free(s);
	if (user != NULL)
		source_put(g, user);
}

/*
 * Find or add the source of a peer.  Counting by address alone would give each
 * user millions of shares (127.0.0.0/8), by user alone one silent client could
 * hold all places of its user.  Sources of two users may have the same text,
 * since it is truncated: so the key of an address is the user's text, a NUL,
 * and the address.
 */
static struct source *
source_get(struct gate *g, const struct peer *p)
{
	struct source	*s, *user;
	char		 key[2 * PEER_TEXT_MAX];
	size_t		 n = strlen(p->user), len = strlen(p->source);

	memcpy(key, p->user, n + 1);
	memcpy(key + n + 1, p->source, len);
	if ((user = gate_find_or_add(g, key, n)) == NULL)
		return NULL;
	if (strcmp(p->source, p->user) == 0)
		return user;
	if ((s = gate_find_or_add(g, key, n + 1 + len)) == NULL) {
		source_put(g, user);
		return NULL;
	}
	assert(s->user == NULL || s->user == user);
	s->user = user;
	return s;
}

static const struct source *
source_top(const struct source *s)
{
	return s->user != NULL ? s->user : s;
}

static void
gate_count(struct source *s, int greeting, int waiting)
{
	for (; s != NULL; s = s->user) {
		assert(greeting >= 0 || s->greeting > 0);
		assert(waiting >= 0 || s->waiting > 0);
		s->greeting += (unsigned)greeting;
		s->waiting += (unsigned)waiting;
	}
}

static void
waiting_free(struct gate *g, struct waiting *k)
{
	assert(g->nwaiting > 0 && k->source != NULL && k->fd != -1);
	TAILQ_REMOVE(&g->waiting, k, entry);
	g->nwaiting--;
	gate_count(k->source, 0, -1);
	source_put(g, k->source);
	fd_close(&k->fd);
	free(k);
}

void
gate_free(struct gate **gp)
{
	struct gate	*g = *gp;
	struct child	*c;

	*gp = NULL;
	if (g == NULL)
		return;
	while (!TAILQ_EMPTY(&g->waiting))
		waiting_free(g, TAILQ_FIRST(&g->waiting));
	while ((c = TAILQ_FIRST(&g->greeted)) != NULL)
		gate_leave(g, c);
	assert(g->ngreeted == 0 && g->nwaiting == 0);
	assert(g->sources.count == 0);
	map_fini(&g->sources);
	timer_stop(&g->patience_ev);
	free(g);
}

static bool
has_place(const struct gate *g, const struct source *s)
{
	if (g->ngreeted >= LIMIT_STARTUPS_FULL)
		return false;
	return s->user == NULL ? s->greeting < LIMIT_STARTUPS_USER :
	    s->greeting < LIMIT_STARTUPS_SOURCE &&
	    s->user->greeting < LIMIT_STARTUPS_USER;
}

/*
 * Whether the user of a waiting connection is known, or is not needed: the
 * worker has to become it.
 */
static bool
gate_has_user(struct gate *g, struct waiting *k)
{
	k->user = NULL;
	if (!g->world->start.is_root || k->peer.uid == 0 || k->refuse != 0 ||
	    k->peer.must_show || k->peer.is_metrics)
		return true;
	switch (userdb_find(g->users, k->peer.uid, &k->user)) {
	case USERDB_KNOWN:
		return true;
	case USERDB_ASKED:
		return false;
	default:
		k->peer.why = "the user cannot be looked up";
		k->refuse = 503;
		return true;
	}
}

/* Start the handshake of a waiting connection; false: no spare worker. */
static bool
gate_assign(struct gate *g, struct waiting *k)
{
	const struct world	*w = g->world;
	struct child		*c;
	bool			 full = k->full ||
				    w->events->is_draining(w->master);

	if (k->greeted && k->refuse != 0) {
		/* It was upgraded: there is no HTTP any more. */
		STAT_INC(g->world, dropped);
		waiting_free(g, k);
		return true;
	}
	if ((c = pool_take(g->assigner->pool)) == NULL)
		return false;
	assert(c->place == NULL);
	gate_count(k->source, 1, 0);
	g->ngreeted++;
	c->place = k->source;
	TAILQ_INSERT_TAIL(&g->greeted, c, gate_entry);
	if ((k->greeted ? child_assign_greeted(g->assigner, c, k->fd, &k->peer,
	    full, k->message, k->len, k->user) : child_assign(g->assigner, c,
	    k->fd, &k->peer, k->refuse, full, k->user)) == -1)
		gate_leave(g, c);
	waiting_free(g, k);
	return true;
}

void
gate_leave(struct gate *g, struct child *c)
{
	struct source	*s = c->place;

	if (g == NULL || s == NULL)
		return;
	assert(g->ngreeted > 0 && s->greeting > 0);
	c->place = NULL;
	TAILQ_REMOVE(&g->greeted, c, gate_entry);
	g->ngreeted--;
	gate_count(s, -1, 0);
	source_put(g, s);
	if (g->nwaiting > 0 && !world_is_stopping(g->world))
		timer_set(&g->patience_ev, 0);
}

/*
 * How old a handshake may be that others wait for, in ms, once it has taken
 * LIMIT_STARTUPS_PATIENCE.  Where many processes want a processor it is not the
 * client who is slow, or not of its own will.
 */
static uint64_t
patience(void)
{
	unsigned	 crowd = crowd_now();

	return LIMIT_STARTUPS_PATIENCE *
	    (uint64_t)(crowd < CROWD_MAX ? crowd : CROWD_MAX);
}

/*
 * The first waiting connection has no place: drop the oldest handshake that
 * occupies one it could have, if it has taken too long.
 */
static void
make_place(struct gate *g, const struct waiting *k)
{
	struct child	*c;
	uint64_t	 age, last;
	bool		 is_full = g->ngreeted >= LIMIT_STARTUPS_FULL;
	bool		 is_own = k->source->greeting >=
			    LIMIT_STARTUPS_SOURCE;

	assert(k == TAILQ_FIRST(&g->waiting));
	TAILQ_FOREACH(c, &g->greeted, gate_entry)
		if (is_full || c->place == k->source || (!is_own &&
		    source_top(c->place) == source_top(k->source)))
			break;
	if (c == NULL)
		return;
	age = clock_ms() - c->since;
	last = age < LIMIT_STARTUPS_PATIENCE ? LIMIT_STARTUPS_PATIENCE :
	    patience();
	if (age >= last) {
		STAT_INC(g->world, dropped);
		log_debug("%s: handshake dropped, others are waiting",
		    c->peer.text);
		child_kill(c);
		return;
	}
	/* The crowd may be gone sooner. */
	timer_set(&g->patience_ev, last - age < LIMIT_STARTUPS_PATIENCE ?
	    last - age : LIMIT_STARTUPS_PATIENCE);
}

void
gate_pump(struct gate *g)
{
	struct waiting	*k, *next;

	for (k = TAILQ_FIRST(&g->waiting); k != NULL; k = next) {
		next = TAILQ_NEXT(k, entry);
		if (g->ngreeted >= LIMIT_STARTUPS_FULL)
			break;
		if (has_place(g, k->source) && gate_has_user(g, k) &&
		    !gate_assign(g, k))
			return;		/* until the pool has a spare worker */
	}
	if ((k = TAILQ_FIRST(&g->waiting)) != NULL)
		make_place(g, k);
}

static void
gate_on_timeout(void *arg)
{
	gate_pump(arg);
}

/*
 * Whether a connection may wait for a place.  Peers whose user is not known
 * share one queue: random early drop keeps it short, and an address may have no
 * more than half of it.
 */
static bool
may_wait(const struct gate *g, const struct source *s, const struct peer *p)
{
	const struct source	*user = source_top(s);

	assert(s->waiting <= g->nwaiting);
	if (!p->known && !has_place(g, s) &&
	    (s->waiting >= LIMIT_STARTUPS_FULL / 2 ||
	    gate_drops(user->waiting, randombytes_uniform(100))))
		return false;
	return user->waiting < LIMIT_STARTUPS_QUEUE;
}

/* Append a connection (taken), with room for a message; NULL: dropped. */
static struct waiting *
waiting_new(struct gate *g, int fd, const struct peer *p, size_t len)
{
	struct source	*s;
	struct waiting	*k = NULL;

	if ((s = source_get(g, p)) == NULL || !may_wait(g, s, p) ||
	    (k = calloc(1, sizeof(*k) + len)) == NULL) {
		if (s != NULL)
			source_put(g, s);
		STAT_INC(g->world, dropped);
		fd_close(&fd);
		return NULL;
	}
	k->fd = fd;
	k->peer = *p;
	k->source = s;
	k->len = len;
	gate_count(s, 0, 1);
	g->nwaiting++;
	TAILQ_INSERT_TAIL(&g->waiting, k, entry);
	return k;
}

void
gate_enqueue(struct gate *g, int fd, const struct peer *p, int refuse,
    bool full)
{
	struct waiting	*k;

	assert(fd != -1 && (refuse == 0 || refuse >= 400));
	if (refuse != 0 &&
	    gate_drops((unsigned)g->ngreeted, randombytes_uniform(100))) {
		STAT_INC(g->world, dropped);
		fd_close(&fd);
		return;
	}
	if ((k = waiting_new(g, fd, p, 0)) == NULL)
		return;
	k->refuse = refuse;
	k->full = full;
	gate_pump(g);
}

void
gate_admit(struct gate *g, int fd, const struct peer *p, bool full,
    const void *message, size_t len)
{
	struct waiting	*k;

	assert(fd != -1 && p->known && len <= LIMIT_FIRST_MESSAGE);
	if ((k = waiting_new(g, fd, p, len)) == NULL)
		return;
	k->full = full;
	k->greeted = true;
	if (len > 0)
		memcpy(k->message, message, len);
	gate_pump(g);
}

size_t
gate_greeting(const struct gate *g)
{
	return g->ngreeted;
}

size_t
gate_waiting(const struct gate *g)
{
	return g->nwaiting;
}
