/*
 * Mark sockets of sandboxed commands, so that the master recognizes TCP
 * connections from a sandbox of its own.  Without the mark such a connection
 * would look like the user's and get a session without a sandbox.
 *
 * The master can query options of the peer's socket (sock_diag(7)), but not its
 * process, which may have passed it on.  So for commands with a sandbox and a
 * network, where there are TCP listeners:
 *
 *   - a seccomp_unotify(2) filter reports each socket(2) for an IP stream to
 *   the
 *     worker;
 *   - the worker makes the socket, sets SO_MAX_PACING_RATE (socket(7)) to a
 *   number of
 *     this server, too high to slow anything down, and installs it in the
 *     command;
 *   - the filter refuses to set that option.
 *
 * Our listeners then refuse the connection wherever the socket went; others do
 * not notice.  Alternatives: a locked BPF filter on the socket needs
 * CAP_NET_ADMIN on newer kernels; Landlock needs a rule for each port, which is
 * slow.
 *
 * Needs Linux 5.14 and no other such filter on us (EBUSY); otherwise commands
 * with a sandbox and a network are not started.
 */
#pragma once

#include "worker/os/env.h"
#include "worker/sandbox/nsset.h"

struct sockmark;

/* --- the worker --- */

/*
 * Prepare for a command that joins v (or NULL): *sock_out is for
 * sockmark_join(), ours, or -1: nothing to mark.  Makes *bp if needed.  0, or
 * -1 with errno.
 */
int	 sockmark_for(struct sockmark **bp, const struct env *env,
	    const struct nsset *v, int *sock_out) MUST_CHECK;

void	 sockmark_free(struct sockmark **bp);

/* --- a child, before it executes a command --- */

/*
 * Install the filter; the owner of the other end of sock answers.  After
 * no_new_privs.  0, or the errno.  System calls only, which do not set errno.
 */
int	 sockmark_join(int sock) MUST_CHECK;

/* Whether this works: 0, or the errno.  The filter stays, unanswered. */
int	 sockmark_try(void) MUST_CHECK;
