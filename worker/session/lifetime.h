/* How long a session may last (MaxSessionTime) and be idle (IdleTimeout). */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "common/ev.h"

struct lifetime_events {
	/* Changes whenever something happens. */
	uint64_t	(*activity)(const void *arg);

	/* why is for people.  Once. */
	void		(*on_over)(void *arg, const char *why);
};

struct lifetime {
	const struct lifetime_events *events;
	void		*arg;
	struct timer	 look_ev;
	uint64_t	 until;		/* clock_ms(); 0: no limit */
	uint64_t	 idle_ms;	/* 0: no limit */
	uint64_t	 active_at;	/* clock_ms() */
	uint64_t	 seen;		/* activity() then */
};

void	 lifetime_init(struct lifetime *l, struct event_base *base,
	    const struct lifetime_events *events, void *arg);

/* In ms; 0: none. */
void	 lifetime_start(struct lifetime *l, uint64_t max_ms, uint64_t idle_ms);
void	 lifetime_stop(struct lifetime *l);
