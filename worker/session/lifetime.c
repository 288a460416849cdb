#include "worker/session/lifetime.h"

#include <assert.h>

#include "common/clock.h"

/*
 * Nothing is noted where something happens, which would cost each message;
 * instead we look so many times in IdleTimeout whether something has.
 */
#define LOOKS		8

static void
look_again(struct lifetime *l, uint64_t now)
{
	uint64_t	 ms = UINT64_MAX, left;

	if (l->until != 0)
		ms = l->until - now;
	if (l->idle_ms != 0) {
		left = l->active_at + l->idle_ms - now;
		if (left > l->idle_ms / LOOKS + 1)
			left = l->idle_ms / LOOKS + 1;
		if (left < ms)
			ms = left;
	}
	timer_set(&l->look_ev, ms);
}

static void
lifetime_on_look(void *arg)
{
	struct lifetime	*l = arg;
	uint64_t	 now = clock_ms(), activity;

	assert(l->until != 0 || l->idle_ms != 0);
	if ((activity = l->events->activity(l->arg)) != l->seen) {
		l->seen = activity;
		l->active_at = now;
	}
	if (l->until != 0 && now >= l->until)
		l->events->on_over(l->arg, "it has reached MaxSessionTime");
	else if (l->idle_ms != 0 && now >= l->active_at + l->idle_ms)
		l->events->on_over(l->arg, "idle for IdleTimeout");
	else
		look_again(l, now);
}

void
lifetime_init(struct lifetime *l, struct event_base *base,
    const struct lifetime_events *events, void *arg)
{
	l->events = events;
	l->arg = arg;
	l->until = l->idle_ms = 0;
	timer_init(&l->look_ev, base, lifetime_on_look, l);
}

void
lifetime_start(struct lifetime *l, uint64_t max_ms, uint64_t idle_ms)
{
	uint64_t	 now = clock_ms();

	if (max_ms == 0 && idle_ms == 0)
		return;
	l->until = max_ms == 0 ? 0 : now + max_ms;
	l->idle_ms = idle_ms;
	l->active_at = now;
	l->seen = l->events->activity(l->arg);
	look_again(l, now);
}

void
lifetime_stop(struct lifetime *l)
{
	timer_stop(&l->look_ev);
}
