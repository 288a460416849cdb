/*
 * Make the calling process, which becomes a holder, see and do only what a plan
 * allows: namespaces and mounts where the kernel lets us, Landlock on top, or
 * alone where it does not and the plan can be said in it.
 */
#ifndef WORKER_SANDBOX_ENFORCE_H
#define WORKER_SANDBOX_ENFORCE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "common/plan/plan.h"
#include "worker/sandbox/nsset.h"
#include "worker/sandbox/sbmount.h"

#define ENFORCE_WHY	MOUNTED_WHY	/* bytes of a reason */

/* What comes of it. */
struct enforced {
	struct nsset	 nsset;		/* for commands */
	pid_t		 outer_pid;	/* in the first process: the holder's */
	char		 why[ENFORCE_WHY];	/* it failed, or was degraded */
	struct mounted	 mounted;	/* what has to be undone */
};

/*
 * Confine this process for good.  hide: a folder of ours of which nothing may
 * be seen, or NULL.  With namespaces a new process, child of our parent, goes
 * on and this one is done:
 *	1	we are the holder, confined
 *	0	we made it, see outer_pid: exit
 *	-1	it cannot be done, e->why says why: the process is of no use
 */
int	 enforce(const struct plan *plan, const char *hide, struct enforced *e)
	    __attribute__((warn_unused_result));

/* --- the ways; as enforce(), for enforce*.c only --- */

int	 enforce_ns(const struct plan *plan, const char *hide,
	    struct enforced *e)
	    __attribute__((warn_unused_result));

/*
 * A ruleset for commands and ourselves.  alone: nothing else protects what the
 * plan protects, so it must say all of it.  The descriptor to *out (-1:
 * Landlock is not there, and not needed). 0, or -1 with e->why.
 */
int	 enforce_landlock(const struct plan *plan, bool alone,
	    struct enforced *e, int *out) __attribute__((warn_unused_result));

/*
 * What no sandboxed command may do, whatever the plan: a filter of system
 * calls (seccomp(2)); net_off: no sockets but AF_UNIX, which connect to nothing
 * and are bound to nothing.  After no_new_privs. 0,
 * or -1 with errno.  System calls only.
 */
int	 enforce_seccomp(bool net_off);

/*
 * Besides: no change of a file's mode, owner, times or attributes.  0, or -1
 * with errno.  System calls only.
 */
int	 enforce_no_changes(void);

/*
 * Besides, where others of the user can be seen, as without a PID namespace: no
 * change of how they are scheduled.  As above.
 */
int	 enforce_self_only(void);

#endif
