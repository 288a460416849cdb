#include "master/workers/membudget.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/map.h"

/* The sessions of one identity. */
struct payer {
	struct map_node	 node;
	char		*identity;
	unsigned	 shares;
	uint64_t	 total;
	struct share	*over;		/* may exceed user_max, or NULL */
};

struct share {
	struct payer	*payer;
	struct held	 held;
};

struct membudget {
	struct map	 payers;
	uint64_t	 total;
	struct share	*over;		/* may exceed max, or NULL */
};

struct membudget *
membudget_new(void)
{
	struct membudget	*b;

	if ((b = calloc(1, sizeof(*b))) != NULL)
		map_init(&b->payers);
	return b;
}

void
membudget_free(struct membudget **bp)
{
	struct membudget	*b = *bp;

	*bp = NULL;
	if (b == NULL)
		return;
	assert(b->payers.count == 0);
	map_fini(&b->payers);
	free(b);
}

static struct payer *
payer_of(struct membudget *b, const char *identity)
{
	size_t		 len = strlen(identity);
	struct payer	*p;

	if ((p = map_find(&b->payers, identity, len)) != NULL)
		return p;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	if ((p->identity = strdup(identity)) == NULL ||
	    map_add(&b->payers, &p->node, p->identity, len, p) == -1) {
		free(p->identity);
		free(p);
		return NULL;
	}
	return p;
}

static struct share *
share_new(struct membudget *b, const char *identity)
{
	struct share	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	if ((s->payer = payer_of(b, identity)) == NULL) {
		free(s);
		return NULL;
	}
	s->payer->shares++;
	return s;
}

static void
membudget_take_out(struct membudget *b, struct share *s)
{
	uint64_t	 all = s->held.output + s->held.message;

	assert(s->payer->total >= all && b->total >= s->payer->total);
	s->payer->total -= all;
	b->total -= all;
	if (b->over == s)
		b->over = NULL;
	if (s->payer->over == s)
		s->payer->over = NULL;
}

static void
put_in(struct membudget *b, struct share *s, struct held held)
{
	assert(held.output <= UINT32_MAX && held.message <= LIMIT_MESSAGE);
	s->held = held;
	s->payer->total += held.output + held.message;
	b->total += held.output + held.message;
}

static uint64_t
membudget_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
room(uint64_t max, uint64_t total)
{
	return max == 0 ? UINT64_MAX : max > total ? max - total : 0;
}

/*
 * Whether a message fits, or is the only one that exceeds a limit: an identity
 * that never ends its message keeps those of others waiting only if they exceed
 * the limit of all.  Without this a message that gets less than it needs would
 * never be complete.
 */
static bool
may_exceed(struct membudget *b, struct share *s, uint64_t message,
    uint64_t own, uint64_t all)
{
	if ((message > own && s->payer->over != NULL) ||
	    (message > all && b->over != NULL))
		return false;
	if (message > own)
		s->payer->over = s;
	if (message > all)
		b->over = s;
	return true;
}

struct held
membudget_ask(struct membudget *b, struct share **sp, const char *identity,
    struct held want, uint64_t user_max, uint64_t max)
{
	struct held	 none = { 0, 0 }, may, had;
	struct share	*s = *sp;
	uint64_t	 own, all, left;

	/* The worker is not trusted: keep sums from overflowing. */
	want.output = membudget_least(want.output, UINT32_MAX);
	want.message = membudget_least(want.message, LIMIT_MESSAGE);
	if (s == NULL && (s = *sp = share_new(b, identity)) == NULL)
		return none;
	assert(strcmp(s->payer->identity, identity) == 0);
	had = s->held;
	membudget_take_out(b, s);
	own = room(user_max, s->payer->total);
	all = room(max, b->total);
	left = membudget_least(own, all);
	/* It may already use all of its last grant. */
	may.output = membudget_least(want.output, left > had.output ? left :
	    had.output);
	may.message = want.message;
	if (!may_exceed(b, s, want.message,
	    own - membudget_least(own, may.output),
	    all - membudget_least(all, may.output)))
		may.message = membudget_least(want.message, had.message);
	put_in(b, s, may);
	return may;
}

void
membudget_leave(struct membudget *b, struct share **sp)
{
	struct share	*s = *sp;
	struct payer	*p;

	*sp = NULL;
	if (s == NULL)
		return;
	p = s->payer;
	assert(p->shares > 0);
	membudget_take_out(b, s);
	free(s);
	if (--p->shares > 0)
		return;
	assert(p->total == 0);
	map_del(&b->payers, &p->node);
	free(p->identity);
	free(p);
}

uint64_t
membudget_total(const struct membudget *b)
{
	return b->total;
}
