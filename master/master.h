/*
 * The master: owns listeners, workers, routes and the control socket.  It
 * reads no byte that a client sent; it accepts, counts, assigns and reaps.
 */
#ifndef MASTER_MASTER_H
#define MASTER_MASTER_H

#include <stdbool.h>

#include "master/world.h"

/*
 * Make the master ready for what its configuration says: run directory,
 * listeners, uplinks (env: see master/remote/remote.h), template.  0, or -1
 * after a line in the log.
 */
int	 master_init(struct master *m, const struct cred *env);

void	 master_fini(struct master *m);

/* Serve until told to stop; the status to exit with. */
int	 master_run(struct master *m);

/* Stop in order; again: at once. */
void	 master_stop(struct master *m, const char *why);

#endif
