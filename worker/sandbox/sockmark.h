/*
 * Mark sockets of sandboxed commands, so that the master knows its own
 * sandbox's TCP connections, which would look like the user's and get a session
 * without a sandbox.
 *
 * The master can query options of the peer's socket (sock_diag(7)), not who
 * uses it.  So for commands with a sandbox and a network, where there are TCP
 * listeners:
 *
 *   - a seccomp_unotify(2) filter reports each socket(2) for an IP stream;
 *   - the worker makes the socket, sets SO_MAX_PACING_RATE (socket(7)) to a
 *     number of this server, too high to slow anything, and installs it;
 *   - the filter refuses to set that option.
 *
 * Needs Linux 5.14 and no other such filter on us (EBUSY); else such commands
 * are not started.
 */
#pragma once

#include "worker/os/env.h"
#include "worker/sandbox/nsset.h"

struct sockmark;

/* --- the worker --- */

/*
 * For a command that joins v (or NULL).  *sock_out, ours, is for
 * sockmark_join(); -1: nothing to mark.  *bp: made if needed.  0, or -1 with
 * errno.
 */
int	 sockmark_for(struct sockmark **bp, const struct env *env,
	    const struct nsset *v, int *sock_out) MUST_CHECK;

void	 sockmark_free(struct sockmark **bp);

/* --- a child, before it executes a command --- */

/* After no_new_privs.  0, or the errno.  System calls only, errno is kept. */
int	 sockmark_join(int sock) MUST_CHECK;

/* Does it work?  0, or the errno.  The filter stays, unanswered. */
int	 sockmark_try(void) MUST_CHECK;
