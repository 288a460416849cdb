#include "master/hub/relay/hubdrain.h"

#include <assert.h>

#include "common/clock.h"

#define TURN_MS		250
#define IDLE_MS		2000	/* without a byte of executor and harnesses */

/* How much it matters to move one now. */
enum hubdrain_use { UNUSED, IDLE, BUSY };

static enum hubdrain_use
hubdrain_use(const struct executor *x, uint64_t now)
{
	const struct harness	*h;

	if (x->nharness == 0)
		return UNUSED;
	if (now - wslink_heard(&x->link) < IDLE_MS)
		return BUSY;
	TAILQ_FOREACH(h, &x->harnesses, entry)
		if (now - wslink_heard(&h->link) < IDLE_MS)
			return BUSY;
	return IDLE;
}

/* Close up to n of those that are used no more than that. */
static size_t
hubdrain_some(struct switchboard *b, size_t n, enum hubdrain_use most)
{
	struct executor	*x, *next;
	uint64_t	 now = clock_ms();
	size_t		 done = 0;

	for (x = map_first(&b->executors); x != NULL && done < n; x = next) {
		next = map_next(&b->executors, &x->node);
		if (hubdrain_use(x, now) > most)
			continue;
		switchboard_detach(x, WSLINK_RESTART, "drained");
		done++;
	}
	return done;
}

/* So many as are due by now, those in use when time is over. */
static void
hubdrain_on_turn(void *arg)
{
	struct hubdrain	*d = arg;
	uint64_t	 passed = clock_ms() - d->began;
	size_t		 due;

	assert(d->is_on);
	if (passed >= d->time) {
		hubdrain_some(d->board, SIZE_MAX, BUSY);
	} else {
		due = (size_t)((double)d->total * (double)passed /
		    (double)d->time) + 1;
		if (due > d->closed)
			d->closed += hubdrain_some(d->board, due - d->closed,
			    UNUSED);
		if (due > d->closed)
			d->closed += hubdrain_some(d->board, due - d->closed,
			    IDLE);
	}
	if (d->board->executors.count > 0)
		timer_set(&d->timer, TURN_MS);
}

void
hubdrain_init(struct hubdrain *d, struct event_base *base,
    struct switchboard *b)
{
	d->is_on = false;
	d->board = b;
	timer_init(&d->timer, base, hubdrain_on_turn, d);
}

void
hubdrain_begin(struct hubdrain *d, uint64_t ms)
{
	if (d->is_on)
		return;
	d->is_on = true;
	d->began = clock_ms();
	d->time = ms;
	d->total = d->board->executors.count;
	d->closed = 0;
	timer_set(&d->timer, 0);
}

void
hubdrain_end(struct hubdrain *d)
{
	d->is_on = false;
	timer_stop(&d->timer);
}
