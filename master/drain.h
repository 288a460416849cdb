/*
 * Draining: no new session is let in, /readyz says no, those that there are go
 * on and can be resumed; when the last one with a worker has ended, or after
 * DrainTimeout, the server stops.  Sessions that are kept without a worker own
 * nothing, and nobody waits for them.
 */
#ifndef MASTER_DRAIN_H
#define MASTER_DRAIN_H

#include "master/world.h"


/* Begin; harmless when it has begun. */
void	 drain_start(struct master *m);

#endif
