/*
 * Resource limits, umask, priority of a session's commands.  RLIMIT_LOCKS is
 * the mark (common/linux/ptree.h).  TasksMax becomes RLIMIT_NPROC, to which the
 * number of all the user's processes is added, found by trying: /proc may not
 * show them.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stddef.h>

#include "common/ipc/ipc.h"

#define RLIMITS_MAX	8

struct rlimits {
	struct {
		int		 resource;
		struct rlimit	 value;
	}		 rlimit[RLIMITS_MAX];
	size_t		 n;
	mode_t		 umask;
	int		 priority;	/* of setpriority(2) */
	uint64_t	 tasks_max;	/* of the session; 0: any */
	uint64_t	 tasks;		/* current ones, by rlimits_count() */
};

/* Never above our own hard limits. */
void	 rlimits_init(struct rlimits *l, const Ipc__Settings *set);

/* Before a start, if there is a tasks_max.  -1: errno EAGAIN, it is reached. */
int	 rlimits_count(struct rlimits *l) MUST_CHECK;

/* To the calling process.  Between clone and exec. */
void	 rlimits_apply(const struct rlimits *l);

/* After all ids are the user's.  0, or the errno. */
int	 rlimits_apply_tasks(const struct rlimits *l) MUST_CHECK;
