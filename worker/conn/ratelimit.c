#include "worker/conn/ratelimit.h"

#include <assert.h>

#define TOKEN	1000

void
ratelimit_init(struct ratelimit *b, uint32_t rate, uint64_t now)
{
	b->rate = rate;
	b->level = (int64_t)rate * TOKEN;
	b->last = now;
}

unsigned
ratelimit_take(struct ratelimit *b, uint64_t now)
{
	int64_t		 most = (int64_t)b->rate * TOKEN;
	uint64_t	 past = now > b->last ? now - b->last : 0;

	assert(b->level <= most);
	if (b->rate == 0)
		return 0;
	b->last = now;
	/* A token every 1000/rate ms: rate thousandths per ms. */
	if (past >= 2 * TOKEN || b->level + (int64_t)past * b->rate > most)
		b->level = most;
	else
		b->level += (int64_t)past * b->rate;
	b->level -= TOKEN;
	if (b->level >= TOKEN)
		return 0;
	return (unsigned)((TOKEN - b->level + b->rate - 1) / b->rate);
}
