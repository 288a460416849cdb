/*
 * In the place of common/ev.h, for the one file that includes this: did() has
 * what is set, started and stopped, each by the name that ev_name() gives it.
 */
#pragma once

#include <check.h>
#include <string.h>

#include "common/ev.h"
#include "t/unit/did_help.h"

static const char	*ev_name(const void *timer_or_io);

static struct {
	const void	*it;
	bool		 is_on;
} ev_known[16];
static bool	 ev_fails;	/* io_start() */

static bool *
ev_state(const void *it)
{
	unsigned	 i;

	for (i = 0; i < 16; i++) {
		if (ev_known[i].it == NULL)
			ev_known[i].it = it;
		if (ev_known[i].it == it)
			return &ev_known[i].is_on;
	}
	ck_abort_msg("too many of these");
}

static void
ev_turn(const void *it, const char *how, bool on)
{
	bool	*is_on = ev_state(it);

	if (*is_on != on)
		did("%s %s", how, ev_name(it));
	*is_on = on;
}

void
timer_init(struct timer *t, struct event_base *base, ev_fn *fn, void *arg)
{
	(void)base;
	t->fn = fn;
	t->arg = arg;
}

void
timer_set(struct timer *t, uint64_t ms)
{
	*ev_state(t) = true;
	did("set %s %llu", ev_name(t), (unsigned long long)ms);
}

void
timer_ensure(struct timer *t, uint64_t ms)
{
	if (!*ev_state(t))
		timer_set(t, ms);
}

void
timer_fire(struct timer *t)
{
	did("fire %s", ev_name(t));
	*ev_state(t) = true;
}

void
timer_stop(struct timer *t)
{
	ev_turn(t, "stop", false);
}

void
io_init(struct io *i, struct event_base *base, int fd, short what, ev_fn *fn,
    void *arg)
{
	(void)base;
	(void)fd;
	(void)what;
	i->fn = fn;
	i->arg = arg;
}

int
io_start(struct io *i)
{
	if (ev_fails)
		return -1;
	ev_turn(i, "start", true);
	return 0;
}

void
io_stop(struct io *i)
{
	ev_turn(i, "stop", false);
}

void
io_fire(struct io *i)
{
	did("fire %s", ev_name(i));
}

/* Its time is up. */
static inline void
ev_time_is_up(struct timer *t)
{
	ck_assert(*ev_state(t));
	*ev_state(t) = false;
	t->fn(t->arg);
}
