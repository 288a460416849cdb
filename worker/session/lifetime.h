/*
 * How long a session may last (MaxSessionTime), and how long it may be idle
 * (IdleTimeout): no message of its client, no input and no output.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "common/ev.h"

struct lifetime_events {
	/* Return a number that changes whenever something happens. */
	uint64_t	(*activity)(const void *arg);

	/* Time is over; why is for people.  Called once. */
	void		(*on_over)(void *arg, const char *why);
};

struct lifetime {
	const struct lifetime_events *events;
	void		*arg;
	struct timer	 look_ev;
	uint64_t	 until;		/* clock_ms(); 0: no limit */
	uint64_t	 idle_ms;	/* 0: no limit */
	uint64_t	 active_at;	/* clock_ms(), of the last change */
	uint64_t	 seen;		/* activity() then */
};

void	 lifetime_init(struct lifetime *l, struct event_base *base,
	    const struct lifetime_events *events, void *arg);

/* Begin to count, with limits in ms, 0: none. */
void	 lifetime_start(struct lifetime *l, uint64_t max_ms, uint64_t idle_ms);
void	 lifetime_stop(struct lifetime *l);
