/* Start a command: tvfork, execve(2); waits, unless the child is late. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "worker/os/rlimits.h"
#include "worker/sandbox/nsset.h"

/* Of a command that must not run, as the reference. */
#define SPAWN_REFUSED	101

struct spawn {
	char		*const *programs;	/* tried in turn */
	char		*const *argv;
	char		*const *envp;
	const char	*cwd;
	bool		 tty;
	bool		 pipe_stdin;		/* not with tty */
	bool		 refused;		/* end with SPAWN_REFUSED */
	uint16_t	 rows, cols;		/* of the terminal */
	uint64_t	 mark;			/* common/linux/ptree.h */
	struct rlimit	 nofile;		/* the child's, not ours */
	const struct rlimits *rlimits;		/* applied after nofile */
	const struct nsset *nsset;		/* sandbox, or NULL */
	int		 sockmark;			/* sockmark.h; or -1 */
	int		 cgroup;		/* worker/os/pcgroup.h; or -1 */
};

/* Non-blocking, close-on-exec, or -1. */
struct spawned {
	pid_t	 pid;
	int	 input;		/* pipe or terminal, to be written */
	int	 output[2];	/* stdout and stderr, or terminal and -1 */
};

/* -1 with the errno of the failed step, in what_out. */
int	 spawn(const struct spawn *s, struct spawned *out,
	    const char **what_out) MUST_CHECK;
