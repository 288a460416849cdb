/*
 * Control groups that limit a whole session, TasksMax one level below:
 *
 *	version 1	.../sN/t	worker and commands; pids.max
 *			.../sN		who left
 *	version 2	.../wN/t	likewise, with the groups of commands
 *			.../wN/a	who left; memory.max is that of .../wN
 *
 * What works for requests is born inside, and leaves where no process can be
 * started.  The worker leaves for a fork(2), when a command may take its place:
 * then there is one more.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>

#include "common/ipc/ipc.h"

/* cgroup.procs, open for writing; -1: no TasksMax. */
struct scgroup {
	int	 in, out;
	bool	 is_below;	/* by version 2 */
};

/*
 * With all later children.  *group: the worker's (worker/os/pcgroup.h), or -1;
 * becomes the one below.  0, or -1 with a log line: run nothing here.
 */
int	 scgroup_enter(const Ipc__Settings *set, int *group,
	    struct scgroup *out) MUST_CHECK;

/* A start failed: leave for good, if that may help.  Whether to retry. */
bool	 scgroup_leave(int out, int error);

/* The worker, after scgroup_leave().  Exits on failure. */
void	 scgroup_return(const struct scgroup *g);

/* fork(2) by the worker, outside if need be.  g: or NULL. */
pid_t	 scgroup_fork(const struct scgroup *g) MUST_CHECK;

/* By version 1.  -1: unknown. */
int	 scgroup_oom(const Ipc__Settings *set, uint64_t *n_out) MUST_CHECK;
