#include "master/auth/penalty.h"

#include <sys/queue.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/map.h"
#include "master/auth/peer.h"

struct culprit {
	TAILQ_ENTRY(culprit)	 entry;		/* least recent first */
	struct map_node		 node;
	char			 name[PEER_TEXT_MAX];
	unsigned		 failures;
	uint64_t		 last;		/* ms: it was refused */
	uint64_t		 until;		/* ms: it waits */
	uint64_t		 told;		/* ms: to the log, or 0 */
	unsigned		 untold;
};

struct penalties {
	struct map		 by_name;
	TAILQ_HEAD(, culprit)	 all;
	uint64_t		 second;	/* that lines are counted in */
	unsigned		 lines;
};

struct penalties *
penalties_new(void)
{
	struct penalties	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	map_init(&p->by_name);
	TAILQ_INIT(&p->all);
	return p;
}

static void
penalty_drop(struct penalties *p, struct culprit *c)
{
	TAILQ_REMOVE(&p->all, c, entry);
	map_del(&p->by_name, &c->node);
	free(c);
}

void
penalties_free(struct penalties **pp)
{
	struct penalties	*p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	while (!TAILQ_EMPTY(&p->all))
		penalty_drop(p, TAILQ_FIRST(&p->all));
	assert(p->by_name.count == 0);
	map_fini(&p->by_name);
	free(p);
}

uint64_t
penalties_left(const struct penalties *p, const char *source, uint64_t now)
{
	const struct culprit	*c;

	c = map_find(&p->by_name, source, strlen(source));
	return c != NULL && c->until > now ? c->until - now : 0;
}

static struct culprit *
penalty_find_or_add(struct penalties *p, const char *source)
{
	struct culprit	*c;

	if ((c = map_find(&p->by_name, source, strlen(source))) != NULL) {
		TAILQ_REMOVE(&p->all, c, entry);
		TAILQ_INSERT_TAIL(&p->all, c, entry);
		return c;
	}
	assert(p->by_name.count <= LIMIT_FAILURE_SOURCES);
	if (p->by_name.count == LIMIT_FAILURE_SOURCES)
		penalty_drop(p, TAILQ_FIRST(&p->all));
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	snprintf(c->name, sizeof(c->name), "%s", source);
	if (map_add(&p->by_name, &c->node, c->name, strlen(c->name), c) ==
	    -1) {
		free(c);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&p->all, c, entry);
	return c;
}

static void
punish(struct culprit *c, uint64_t now)
{
	uint64_t	 pause = LIMIT_FAILURE_PAUSE;
	unsigned	 n;

	c->failures++;
	for (n = LIMIT_FAILURES; n < c->failures &&
	    pause < LIMIT_FAILURE_PAUSE_MAX; n++)
		pause *= 2;
	if (pause > LIMIT_FAILURE_PAUSE_MAX)
		pause = LIMIT_FAILURE_PAUSE_MAX;
	if (c->failures >= LIMIT_FAILURES)
		c->until = now + pause;
}

/* Limit lines also in total: a peer may have many addresses. */
static bool
may_log(struct penalties *p, const struct culprit *c, uint64_t now)
{
	if (c->told != 0 && now - c->told < LIMIT_FAILURE_TOLD)
		return false;
	if (p->second != now / 1000) {
		p->second = now / 1000;
		p->lines = 0;
	}
	return p->lines++ < LIMIT_FAILURE_LINES;
}

/*
 * Tell once per LIMIT_FAILURE_TOLD for a source, LIMIT_FAILURE_LINES per second
 * for all.
 */
unsigned
penalties_add(struct penalties *p, const char *source, bool is_guess,
    uint64_t now)
{
	struct culprit	*c;
	uint64_t	 since;
	unsigned	 n;

	if ((c = penalty_find_or_add(p, source)) == NULL)
		return 0;
	since = c->last > c->until ? c->last : c->until;
	if (now > since && now - since > LIMIT_FAILURE_MEMORY)
		c->failures = 0;
	c->last = now;
	c->untold++;
	if (is_guess)
		punish(c, now);
	if (!may_log(p, c, now))
		return 0;
	n = c->untold;
	c->untold = 0;
	c->told = now;
	return n;
}
