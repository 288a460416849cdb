#include "master/hub/relay/hubdrain.h"

#define TURN_MS		1000
#define PART		100	/* turns in which all are closed */

/* Close up to n of those with or without harnesses; return how many. */
static size_t
hubdrain_some(struct switchboard *b, size_t n, bool with_harnesses)
{
	struct executor	*x, *next;
	size_t		 done = 0;

	for (x = map_first(&b->executors); x != NULL && done < n; x = next) {
		next = map_next(&b->executors, &x->node);
		if (x->nharness > 0 && !with_harnesses)
			continue;
		switchboard_detach(x, WSLINK_RESTART, "drained");
		done++;
	}
	return done;
}

static void
hubdrain_on_turn(void *arg)
{
	struct hubdrain	*d = arg;

	if (hubdrain_some(d->board, d->each, false) == 0)
		hubdrain_some(d->board, d->each, true);
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
hubdrain_begin(struct hubdrain *d)
{
	d->is_on = true;
	d->each = d->board->executors.count / PART + 1;
	timer_set(&d->timer, TURN_MS);
}

void
hubdrain_end(struct hubdrain *d)
{
	d->is_on = false;
	timer_stop(&d->timer);
}
