/* Socket activation: listening sockets passed in as by sd_listen_fds(3). */
#pragma once

#include <stddef.h>

#define ACTIVATION_FIRST	3	/* descriptor, SD_LISTEN_FDS_START */
#define ACTIVATION_MAX	64

struct activation {
	int	 fd[ACTIVATION_MAX];	/* -1: taken by listen_adopt() */
	char	*name[ACTIVATION_MAX];	/* in LISTEN_FDNAMES, or NULL */
	size_t	 n;
};

/*
 * Remove LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES from the environment, and
 * take the descriptors, close-on-exec, if LISTEN_PID is this process.  0, or -1
 * after a line in the log.
 */
int	 activation_take_env(struct activation *p) MUST_CHECK;

/* Add one (fd is taken) of a master before us.  0, or -1 with errno. */
int	 activation_add(struct activation *p, int fd, const char *name)
	    MUST_CHECK;

/* Close all that were not adopted. */
void	 activation_fini(struct activation *p);
