/*
 * Operators watching output, each on a socket (proto/ipc.def, tail_piece).
 * They do not influence what is kept: a slow one misses what is dropped.
 */
#pragma once

#include <stdbool.h>

struct proc;

/*
 * Retained output and, with follow, new output.  *total: tails of the session.
 * Takes fd on success.  0, or -1 with errno; EMFILE: LIMIT_TAILS.
 */
int	 tail_add(struct proc *p, unsigned *total, int fd, bool follow)
	    MUST_CHECK;
