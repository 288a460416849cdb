/*
 * Listening sockets that a service manager or launcher passed in: the
 * descriptors from 3 on of sd_listen_fds(3).
 */
#ifndef MASTER_ACCEPT_PASSED_H
#define MASTER_ACCEPT_PASSED_H

#include <stddef.h>

#define PASSED_FIRST	3	/* descriptor, of the protocol */
#define PASSED_MAX	64	/* more are somebody's mistake */

struct passed {
	int	 fd[PASSED_MAX];	/* -1: taken by listen_adopt() */
	char	*name[PASSED_MAX];	/* of LISTEN_FDNAMES, or NULL */
	size_t	 n;
};

/*
 * Take LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES out of the environment, and
 * the descriptors if they are meant for this process: closed by exec from here
 * on.  0, or -1 after a line in the log.
 */
int	 passed_take_env(struct passed *p) __attribute__((warn_unused_result));

/* What nobody took is closed. */
void	 passed_fini(struct passed *p);

#endif
