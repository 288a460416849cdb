/*
 * Operators watching a process's output, each on a socket (proto/ipc.def,
 * tail_piece).  They do not influence what is kept: a slow one misses what is
 * dropped.  Nothing is copied before it can be sent.
 */
#pragma once

#include <stdbool.h>

struct proc;

/*
 * Show retained output and, with follow, new output until the end.  *total
 * counts tails of the session.  Takes over fd on success.  0, or -1 with errno;
 * EMFILE: LIMIT_TAILS.
 */
int	 tail_add(struct proc *p, unsigned *total, int fd, bool follow)
	    MUST_CHECK;
