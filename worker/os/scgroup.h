/* Control groups that limit a whole session. */
#pragma once

#include "common/ipc/ipc.h"

/*
 * Enter them with all later children, while we may.  group: the worker's
 * (worker/os/pcgroup.h), or -1.  0, or -1 with a log line: then run nothing
 * here, as a limit would not hold.
 */
int	 scgroup_enter(const Ipc__Settings *set, int group) MUST_CHECK;

/* Count OOM kills by version 1.  0, or -1: unknown. */
int	 scgroup_oom(const Ipc__Settings *set, uint64_t *n_out) MUST_CHECK;
