/* Control groups that limit a session as a whole (master/fence.h). */
#ifndef WORKER_FENCE_H
#define WORKER_FENCE_H

#include "common/ipc.h"

/*
 * Enter them, while we may: the worker and all its children are bound then.
 * group: that of the worker (worker/cgroup.h), or -1.  Fatal if one cannot be
 * entered: a limit that does not hold is none.
 */
void	 fence_enter(const Ipc__Settings *set, int group);

/*
 * How many of them the kernel has killed for want of memory, by version 1: 0,
 * or -1 where nobody counts.
 */
int	 fence_oom(const Ipc__Settings *set, uint64_t *n_out)
	    __attribute__((warn_unused_result));

#endif
