/*
 * Start a command: clone in shared memory (worker/os/tvfork.h), then execve(2).
 * The caller waits for the exec and learns why it failed, unless the child is
 * late.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "worker/os/rlimits.h"
#include "worker/sandbox/nsset.h"

/* Exit code of a command that must not run, as the reference. */
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

/* Our descriptors, non-blocking, close-on-exec, or -1. */
struct spawned {
	pid_t	 pid;
	int	 input;		/* pipe or terminal, to be written */
	int	 output[2];	/* stdout and stderr, or terminal and -1 */
};

/* 0, or -1 with the errno of the failed step, which is in what_out. */
int	 spawn(const struct spawn *s, struct spawned *out,
	    const char **what_out) MUST_CHECK;
