#include "master/drain.h"

#include <assert.h>

#include "common/clock.h"
#include "common/log.h"

/*
 * Polling is simpler than a hook wherever a session may end, and changes no
 * list while it is walked.
 */
#define LOOK_MS		100

static void
drain_on_look(void *arg)
{
	struct drain	*d = arg;
	size_t		 n = d->events->sessions(d->arg);

	assert(d->is_on);
	if (n > 0 && (d->until == 0 || clock_ms() < d->until)) {
		timer_set(&d->look_ev, LOOK_MS);
		return;
	}
	d->left = n;
	d->events->on_over(d->arg, n);
}

void
drain_init(struct drain *d, struct event_base *base,
    const struct drain_events *events, void *arg)
{
	assert(!d->is_on);
	d->events = events;
	d->arg = arg;
	timer_init(&d->look_ev, base, drain_on_look, d);
}

void
drain_fini(struct drain *d)
{
	timer_stop(&d->look_ev);
}

void
drain_start(struct drain *d, uint64_t timeout)
{
	if (d->is_on)
		return;
	assert(d->events != NULL && d->until == 0);
	d->is_on = true;
	log_info("draining: %zu sessions", d->events->sessions(d->arg));
	if (timeout > 0)
		d->until = clock_ms() + timeout;
	timer_set(&d->look_ev, LOOK_MS);
}

void
drain_undo(struct drain *d)
{
	if (!d->is_on)
		return;
	d->is_on = false;
	d->until = 0;
	timer_stop(&d->look_ev);
	log_info("draining no more");
}

void
drain_stop(struct drain *d)
{
	timer_stop(&d->look_ev);
}
