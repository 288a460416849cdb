/*
 * Draining: no new sessions are admitted and /readyz says no; the server stops
 * when no session with a worker is left, or after DrainTimeout.  Tombstones
 * (master/workers/route.h) do not delay it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct drain_events {
	/* The number of sessions with a worker. */
	size_t	(*sessions)(const void *arg);

	/* No session is left; or the timeout, and left are. */
	void	(*on_over)(void *arg, size_t left);
};

struct drain {
	const struct drain_events *events;
	void		*arg;
	bool		 is_on;
	struct timer	 look_ev;
	uint64_t	 until;		/* clock_ms(); 0: no limit */
	size_t		 left;		/* sessions at the timeout */
};

void	 drain_init(struct drain *d, struct event_base *base,
	    const struct drain_events *events, void *arg);
void	 drain_fini(struct drain *d);

/* Begin, once, for at most timeout milliseconds; 0: no limit. */
void	 drain_start(struct drain *d, uint64_t timeout);

/* Admit sessions again; wait no longer, as the server stops. */
void	 drain_undo(struct drain *d);
void	 drain_stop(struct drain *d);
