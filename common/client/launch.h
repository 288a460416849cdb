/* Programs that run beside us: starting, watching and ending one. */
#ifndef COMMON_CLIENT_LAUNCH_H
#define COMMON_CLIENT_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/client/execsrv.h"

struct launched {
	pid_t	 pid;		/* 0: none */
	int	 pidfd;		/* by this it is known even if somebody else
				   has waited for it; -1 on old kernels */
};

struct launch {
	const char *const	*argv;	/* ended by NULL */
	char			**env;	/* the same; environ */
	const int		*fds;	/* what it has as 0, 1, ... */
	size_t			 nfds;	/* up to LAUNCH_FDS */
	/*
	 * A server of ours: a program by its path, in a process group of its
	 * own, so that what a terminal says to us is not said to it; without
	 * our other descriptors, and what env says to servers.
	 * Otherwise any command.
	 */
	bool			 is_server;
};

#define LAUNCH_FDS	8

/* Start it.  0, or -1 with errno. */
int	 execsrv_launch(const struct launch *how, struct launched *out)
	    __attribute__((warn_unused_result));

void	 execsrv_launched_signal(const struct launched *l, int sig);

/* Whether it ends within ms; false where that cannot be known. */
bool	 execsrv_launched_ends(const struct launched *l, int ms);

/*
 * Wait for its end, however long; 128 + N of signal N, -1: it is not known.
 * Its pidfd stays readable.
 */
int	 execsrv_launched_status(struct launched *l);

/*
 * The program execsrvd: wanted, or what EXECSRVD says, or where it is
 * installed.  0, or -1 with the reason in e.
 */
int	 execsrv_find_server(const char *wanted, char path[PATH_MAX],
	    struct execsrv_error *e) __attribute__((warn_unused_result));

/*
 * What a server said on its standard error, a pipe's end that does not block:
 * the last line there that is about its end, into text.  Whether there was one.
 */
bool	 execsrv_last_words(int fd, char *text, size_t size);

#endif
