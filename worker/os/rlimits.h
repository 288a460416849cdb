/*
 * What the settings allow the commands of a session: resource limits, umask,
 * priority.  RLIMIT_LOCKS is none of them: it is the mark
 * (common/linux/ptree.h).
 *
 * RLIMIT_NPROC in place of TasksMax: the kernel compares it with all that the
 * user has on this machine, in containers too where /proc does not show it.
 * So what he has besides is found out by trying, and added.
 */
#ifndef WORKER_OS_RLIMITS_H
#define WORKER_OS_RLIMITS_H

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
	uint64_t	 tasks;		/* that it has, rlimits_count() */
};

/*
 * Those of a session, in the process whose children get them.  A hard limit is
 * never raised: where ours is lower that one holds.
 */
void	 rlimits_init(struct rlimits *l, const Ipc__Settings *set);

/*
 * Before a command is started, where there is a tasks_max: count what the
 * session has.  0, or -1 with errno EAGAIN: it is as many already.
 */
int	 rlimits_count(struct rlimits *l) __attribute__((warn_unused_result));

/* Between clone and exec: they are ours from here on. */
void	 rlimits_apply(const struct rlimits *l);

/* Behind that, as the user in every respect: tasks_max.  0, or the errno. */
int	 rlimits_apply_tasks(const struct rlimits *l)
	    __attribute__((warn_unused_result));

#endif
