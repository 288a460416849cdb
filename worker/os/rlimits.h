/*
 * Settings for the commands of a session: resource limits, umask, priority.
 * RLIMIT_LOCKS is the mark instead (common/linux/ptree.h).
 *
 * TasksMax becomes RLIMIT_NPROC.  The kernel compares that with all processes
 * of the user, also in containers where /proc does not show them: their number
 * is found by trying and added.
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

/* Read the settings.  Hard limits are never raised above our own. */
void	 rlimits_init(struct rlimits *l, const Ipc__Settings *set);

/*
 * Count the session's tasks before a start, if there is a tasks_max.  0, or -1
 * with errno EAGAIN: the maximum is reached.
 */
int	 rlimits_count(struct rlimits *l) MUST_CHECK;

/* Apply to the calling process.  Between clone and exec. */
void	 rlimits_apply(const struct rlimits *l);

/* Apply tasks_max, after all ids are the user's.  0, or the errno. */
int	 rlimits_apply_tasks(const struct rlimits *l) MUST_CHECK;
