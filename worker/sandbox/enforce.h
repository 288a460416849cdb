/*
 * Confine the calling process, a future holder, to a plan: by namespaces and
 * mounts, and Landlock on top; or by Landlock alone, where namespaces are not
 * available and it can express the plan.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "common/plan/plan.h"
#include "worker/sandbox/nsset.h"
#include "worker/sandbox/sbmount.h"

#define ENFORCE_WHY	MOUNTED_WHY	/* bytes of a reason */

/* The result. */
struct enforced {
	struct nsset	 nsset;		/* for commands */
	pid_t		 outer_pid;	/* the holder's, in the first process */
	char		 why[ENFORCE_WHY];	/* failed, or degraded */
	struct mounted	 mounted;	/* to be undone later */
};

/*
 * hide: a folder of ours to be made invisible, or NULL.  leave: out of struct
 * scgroup (worker/os/scgroup.h), or -1.  With namespaces a new
 * process, a child of our parent, continues in place of the calling one.
 *	1	this is the holder, confined
 *	0	this process made the holder, see outer_pid: exit
 *	-1	failed, as e->why says: the process is unusable
 */
int	 enforce(const struct plan *plan, const char *hide, int leave,
	    struct enforced *e) MUST_CHECK;

/* --- backends; as enforce(), for enforce*.c only --- */

int	 enforce_ns(const struct plan *plan, const char *hide, int leave,
	    struct enforced *e) MUST_CHECK;

/*
 * Make a ruleset for commands and ourselves; -1 in *out: not available, not
 * needed.  alone: nothing else enforces the plan, so the ruleset must express
 * all of it.  0, or -1 with e->why.
 */
int	 enforce_landlock(const struct plan *plan, bool alone,
	    struct enforced *e, int *out) MUST_CHECK;

/*
 * Install the seccomp(2) filter for all sandboxed commands.  net_off: no
 * sockets but AF_UNIX socket pairs.  After no_new_privs.  0, or -1 with errno.
 * System calls only.
 */
int	 enforce_seccomp(bool net_off);

/*
 * The same for a command with a managed network, in a namespace of its own: no
 * sockets but those of TCP and UDP, and AF_UNIX socket pairs.
 */
int	 enforce_seccomp_managed(void);

/* Also forbid changes of mode, owner, times and attributes.  As above. */
int	 enforce_no_changes(void);

/* Without a PID namespace: also forbid to change others' scheduling. */
int	 enforce_self_only(void);
