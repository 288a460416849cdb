/* Control groups that limit a session as a whole (master/workers/cgroups.h). */
#ifndef WORKER_OS_SCGROUP_H
#define WORKER_OS_SCGROUP_H

#include "common/ipc/ipc.h"

/*
 * Enter them, while we may: the worker and all its children are bound then.
 * group: that of the worker (worker/os/pcgroup.h), or -1.  0, or -1 if one
 * cannot be entered, with a line in the log: then nothing is to run here, for a
 * limit that does not hold is none.
 */
int	 scgroup_enter(const Ipc__Settings *set, int group)
	    __attribute__((warn_unused_result));

/*
 * How many of them the kernel has killed for want of memory, by version 1: 0,
 * or -1 where nobody counts.
 */
int	 scgroup_oom(const Ipc__Settings *set, uint64_t *n_out)
	    __attribute__((warn_unused_result));

#endif
