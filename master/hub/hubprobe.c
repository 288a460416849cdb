#include "master/hub/hubprobe.h"

#include <assert.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/limit.h"

#define TURN_MS	50	/* between two looks */

static void
hubprobe_on_turn(void *arg)
{
	struct hubprobe	*p = arg;
	struct executor	*x = switchboard_find(&p->hub->board, p->environment);
	bool		 is_there = x != NULL && x->number == p->number;
	/* One that is held up for a slow harness does live. */
	bool		 lives = is_there && (wslink_pongs(&x->link) !=
			    p->pongs || wslink_is_paused(&x->link));

	if (is_there && !lives && clock_ms() - p->since < LIMIT_HUB_PROBE)
		timer_set(&p->timer, TURN_MS);
	else
		p->fn(p->arg, lives ? ALIVE : x == NULL ? UNKNOWN : DEAD);
}

void
hubprobe_start(struct hubprobe *p, struct hub *h, struct executor *x,
    void (*fn)(void *, enum probe), void *arg)
{
	assert(!timer_is_set(&p->timer));
	p->hub = h;
	p->fn = fn;
	p->arg = arg;
	p->number = x->number;
	p->since = clock_ms();
	p->pongs = wslink_pongs(&x->link);
	snprintf(p->environment, sizeof(p->environment), "%s", x->environment);
	timer_init(&p->timer, h->base, hubprobe_on_turn, p);
	timer_set(&p->timer, TURN_MS);
	wslink_ping(&x->link);
}

void
hubprobe_stop(struct hubprobe *p)
{
	timer_stop(&p->timer);
}
