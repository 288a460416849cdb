/*
 * The mark of sockets: by it the master knows a TCP connection that comes from
 * a sandbox of its own.  A socket says whose it is, the user's, and would get
 * him a session without a sandbox.
 *
 * What the master is told of a socket at the other end (sock_diag(7)) names no
 * process, and who has it may have left by then.  But it has what was set on
 * it.  So the worker makes the sockets of commands that have both a sandbox and
 * a network, where there are TCP listeners:
 *
 *   - a filter of system calls asks it about each socket(2) for a stream of
 *     IPv4 or IPv6 (seccomp_unotify(2));
 *   - it makes the socket, sets SO_MAX_PACING_RATE (socket(7)) to a number that
 *     only this server has, and puts it into the command.  That is more than
 *     any link has, so nothing is held back;
 *   - the filter refuses to set that option again.
 *
 * So whatever a command does with its socket, wherever it goes: the server
 * whose number it has refuses it.  All others take it as they did.  A socket(2)
 * takes some 20 us longer.
 *
 * A locked filter on the socket would stop what comes from our listeners, but
 * newer kernels want CAP_NET_ADMIN for it; Landlock with a rule for each of
 * 65535 ports takes 25 ms and more for each command.
 *
 * It needs Linux 5.14, and that nobody asks about us in the same way (EBUSY).
 * Where it cannot be, commands with a network and a sandbox are not started.
 */
#ifndef WORKER_SANDBOX_SOCKMARK_H
#define WORKER_SANDBOX_SOCKMARK_H

#include "worker/os/env.h"
#include "worker/sandbox/nsset.h"

struct sockmark;

/* --- the worker --- */

/*
 * What a command of that view (or NULL) needs: *sock_out is for
 * sockmark_join(), ours, or -1 when nothing is to be marked.  *bp is made when
 * it is needed.  0, or -1 with errno.
 */
int	 sockmark_for(struct sockmark **bp, const struct env *env,
	    const struct nsset *v, int *sock_out)
	    __attribute__((warn_unused_result));

void	 sockmark_free(struct sockmark **bp);

/* --- a child, before it executes a command --- */

/*
 * Have sockets made by who has the other end of sock; after no_new_privs.  0,
 * or the errno.  System calls only, which leave errno alone.
 */
int	 sockmark_join(int sock) __attribute__((warn_unused_result));

/* Whether that can be: 0, or the errno.  Then it is, and nobody makes any. */
int	 sockmark_try(void) __attribute__((warn_unused_result));

#endif
