/*
 * Control groups that limit a whole session.  TasksMax is set one level below
 * the others:
 *
 *	version 1	.../sN/t	worker and commands; pids.max
 *			.../sN		who left
 *	version 2	.../wN/t	likewise, with the groups of commands
 *			.../wN/a	who left; memory.max is that of .../wN
 *
 * What works for the session's requests is born in it, and leaves where no
 * process can be started: commands that use up all tasks stop no request.  The
 * worker leaves for the moment of a fork(2), in which a command may take its
 * place: then there is one more.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>

#include "common/ipc/ipc.h"

/* The cgroup.procs of both, open for writing; -1: no TasksMax. */
struct scgroup {
	int	 in, out;
	bool	 is_below;	/* by version 2 */
};

/*
 * Enter them with all later children, while we may.  *group: the worker's
 * (worker/os/pcgroup.h), or -1; replaced by the one below.  0, or -1 with a log
 * line: then run nothing here, as a limit would not hold.
 */
int	 scgroup_enter(const Ipc__Settings *set, int *group,
	    struct scgroup *out) MUST_CHECK;

/*
 * After a process could not be started, with this errno: leave for good, if
 * that may help.  out: of struct scgroup.  Whether to try again.
 */
bool	 scgroup_leave(int out, int error);

/* In the worker: come back after scgroup_leave().  Exits if that fails. */
void	 scgroup_return(const struct scgroup *g);

/*
 * In the worker: fork(2), outside if there is no other way.  g may be NULL.
 */
pid_t	 scgroup_fork(const struct scgroup *g) MUST_CHECK;

/* Count OOM kills by version 1.  0, or -1: unknown. */
int	 scgroup_oom(const Ipc__Settings *set, uint64_t *n_out) MUST_CHECK;
