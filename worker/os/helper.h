/*
 * Programs of ours that serve a session in processes of their own, as its user:
 * execsrv-http, execsrv-proxy.  Their channel is standard input.
 */
#pragma once

#include <sys/types.h>

#include <stddef.h>

#include "common/attributes.h"

struct scgroup;

/* Open a program for execution (O_PATH).  -1: not installed. */
int	 helper_program(const char *name) MUST_CHECK;

/*
 * Execute the program exe (of helper_program()) with sock as standard input.
 * Its arguments are the number of the session and log_how(); of our environment
 * it has the n variables in kept.  limited: by TasksMax, which is left if need
 * be (worker/os/scgroup.h), or NULL.  The pid, or -1 with errno.
 */
pid_t	 helper_start(int exe, const char *name, unsigned session,
	    const struct scgroup *limited, const char *const *kept, size_t n,
	    int sock) MUST_CHECK;

/* Log how it ended, unless with status 0. */
void	 helper_log_end(const char *name, int status);
