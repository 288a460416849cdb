/*
 * Listening sockets that a service manager or launcher passed in: the
 * descriptors from 3 on of sd_listen_fds(3).
 */
#ifndef MASTER_ACCEPT_ACTIVATION_H
#define MASTER_ACCEPT_ACTIVATION_H

#include <stddef.h>

#define ACTIVATION_FIRST	3	/* descriptor, of the protocol */
#define ACTIVATION_MAX	64	/* more are somebody's mistake */

struct activation {
	int	 fd[ACTIVATION_MAX];	/* -1: taken by listen_adopt() */
	char	*name[ACTIVATION_MAX];	/* of LISTEN_FDNAMES, or NULL */
	size_t	 n;
};

/*
 * Take LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES out of the environment, and
 * the descriptors if they are meant for this process: closed by exec from here
 * on.  0, or -1 after a line in the log.
 */
int	 activation_take_env(struct activation *p)
	    __attribute__((warn_unused_result));

/* What nobody took is closed. */
void	 activation_fini(struct activation *p);

#endif
