/*
 * Confine this process, a future holder, to a plan: by namespaces, mounts and
 * Landlock; or by Landlock alone, where that can express the plan.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "common/plan/plan.h"
#include "worker/sandbox/nsset.h"
#include "worker/sandbox/sbmount.h"

#define ENFORCE_WHY	MOUNTED_WHY	/* bytes */

struct enforced {
	struct nsset	 nsset;		/* for commands */
	pid_t		 outer_pid;	/* the holder's, in the first process */
	char		 why[ENFORCE_WHY];	/* failed, or degraded */
	struct mounted	 mounted;	/* to be undone later */
};

/*
 * hide: a folder to be made invisible, or NULL.  leave: out of struct scgroup
 * (worker/os/scgroup.h), or -1.  With namespaces a new child of our parent
 * continues.
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
 * A ruleset for commands and us; -1 in *out: not available, not needed.  alone:
 * it must express all of the plan.  0, or -1 with e->why.
 */
int	 enforce_landlock(const struct plan *plan, bool alone,
	    struct enforced *e, int *out) MUST_CHECK;

/*
 * For all sandboxed commands, after no_new_privs; net_off: only AF_UNIX socket
 * pairs. 0, or -1 with errno.  System calls only, as those below.
 */
int	 enforce_seccomp(bool net_off);

/* For a managed network, in a namespace: also TCP and UDP. */
int	 enforce_seccomp_managed(void);

/* No changes of mode, owner, times, attributes either. */
int	 enforce_no_changes(void);

/* Without a PID namespace: do not change others' scheduling. */
int	 enforce_self_only(void);
