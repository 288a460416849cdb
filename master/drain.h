/*
 * Draining: no new session is let in, /readyz says no, those that there are go
 * on and can be resumed.  When the last one with a worker has ended, or after
 * DrainTimeout, the server stops.  A session that is kept without a worker owns
 * nothing and delays nothing.
 */
#ifndef MASTER_DRAIN_H
#define MASTER_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct drain_events {
	/* How many sessions have a worker. */
	size_t	(*sessions)(const void *arg);

	/* None is left, or the time is up: then left says how many are. */
	void	(*on_over)(void *arg, size_t left);
};

struct drain {
	const struct drain_events *events;
	void		*arg;
	bool		 is_on;
	struct timer	 look_ev;
	uint64_t	 until;		/* clock_ms(); 0: no limit */
	size_t		 left;		/* sessions when the time was up */
};

void	 drain_init(struct drain *d, struct event_base *base,
	    const struct drain_events *events, void *arg);
void	 drain_fini(struct drain *d);

/* Begin, for timeout milliseconds at most (0: no limit), unless it has. */
void	 drain_start(struct drain *d, uint64_t timeout);

/* End it: the server stops anyway. */
void	 drain_stop(struct drain *d);

#endif
