/*
 * From a command to a running child: born in our memory (worker/os/tvfork.h),
 * only system calls in between, then execve(2).  The caller waits for the exec
 * and learns why it failed; unless that takes too long, see there.
 */
#ifndef WORKER_PROC_SPAWN_H
#define WORKER_PROC_SPAWN_H

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "worker/os/rlimits.h"
#include "worker/sandbox/nsset.h"

struct spawn {
	char		*const *programs;	/* tried in turn */
	char		*const *argv;
	char		*const *envp;
	const char	*cwd;
	bool		 tty;
	bool		 pipe_stdin;		/* not with tty */
	uint16_t	 rows, cols;		/* of the terminal */
	uint64_t	 mark;			/* see common/linux/ptree.h */
	struct rlimit	 nofile;		/* the child's, not ours */
	const struct rlimits *rlimits;		/* over that */
	const struct nsset *nsset;		/* sandbox, or NULL */
	int		 sockmark;			/* sockmark.h; or -1 */
	int		 cgroup;		/* worker/os/pcgroup.h; or -1 */
};

/* Descriptors of ours, non-blocking, close-on-exec; -1 where there is none. */
struct spawned {
	pid_t	 pid;
	int	 input;		/* pipe or terminal, to be written */
	int	 output[2];	/* stdout and stderr, or terminal and -1 */
};

/*
 * Start it.  0, or -1 with errno as the failing call left it; *what_out then
 * says which one it was.
 */
int	 spawn(const struct spawn *s, struct spawned *out,
	    const char **what_out) __attribute__((warn_unused_result));

#endif
