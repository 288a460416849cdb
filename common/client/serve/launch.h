/* Child programs: start, watch, end. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/client/execsrv.h"

struct launched {
	pid_t	 pid;		/* 0: none */
	int	 pidfd;		/* -1 on old kernels */
};

struct launch {
	const char *const	*argv;	/* ended by NULL */
	char			**env;	/* the same; environ */
	const int		*fds;	/* its descriptors 0, 1, ... */
	size_t			 nfds;	/* up to LAUNCH_FDS */
	/*
	 * A server of ours, by its path: in a process group of its own, without
	 * our other descriptors and the variables that address servers.
	 */
	bool			 is_server;
};

#define LAUNCH_FDS	8

/* 0, or -1 with errno. */
int	 execsrv_launch(const struct launch *how, struct launched *out)
	    MUST_CHECK;

void	 execsrv_launched_signal(const struct launched *l, int sig);

/* Wait for its end for ms; false: it runs, or there is no pidfd. */
bool	 execsrv_launched_ends(const struct launched *l, int ms);

/* The same; its status, as below, or -1: it runs, or unknown. */
int	 execsrv_launched_ended(const struct launched *l, int ms);

/* Wait for the end: 128 + N after signal N, -1: unknown.  Keeps the pidfd. */
int	 execsrv_launched_status(struct launched *l);

/* wanted, or $EXECSRVD, or where it is installed.  0, or -1: why, in e. */
int	 execsrv_find_server(const char *wanted, char path[PATH_MAX],
	    struct execsrv_error *e) MUST_CHECK;

/* Copy the last line of standard error, a nonblocking pipe; if there is one. */
bool	 execsrv_last_line(int fd, char *text, size_t size);
