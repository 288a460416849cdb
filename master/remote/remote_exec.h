/* Starts execsrv-uplink: its user, environment and channel. */
#pragma once

#include <sys/types.h>

#include "master/world.h"

/* Find the user that uplinks run as.  0, or -1 after a line in the log. */
int	 remote_exec_init(struct master *m);

/* *sock_out, its channel, is the caller's.  0 with errno. */
pid_t	 remote_exec(struct master *m, int *sock_out);
