/*
 * The master: owns listeners, workers, routes and the control socket.  It reads
 * nothing that a client sent.
 */
#pragma once

#include <stdbool.h>

#include "master/world.h"

/*
 * Set up run directory, listeners, uplinks (env: master/remote/remote.h) and
 * template, as configured.  0, or -1 after a line in the log.
 */
int	 master_init(struct master *m, const struct cred *env);

void	 master_fini(struct master *m);

/* Serve until stopped.  Return the exit status. */
int	 master_run(struct master *m);

/* Stop sessions with their grace period; called again: kill. */
void	 master_stop(struct master *m, const char *why);
