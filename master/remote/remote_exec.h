/* Starts execsrv-uplink: its user, environment and channel. */
#pragma once

#include <sys/types.h>

struct world;

/* Find the user that uplinks run as.  0, or -1 after a line in the log. */
int	 remote_exec_init(const struct world *w, uid_t *uid, gid_t *gid);

/* *sock_out, its channel, is the caller's.  0 with errno. */
pid_t	 remote_exec(const struct world *w, uid_t uid, gid_t gid,
	    int *sock_out);
