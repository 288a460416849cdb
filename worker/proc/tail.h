/*
 * Operators who look at the output of a process: a descriptor each, at whose
 * other end one reads (proto/ipc.def, tail_piece).  They only look: what is
 * kept, and for how long, does not depend on them, and who reads slowly misses
 * what is dropped meanwhile.  Nothing is copied before it can be sent.
 */
#ifndef WORKER_PROC_TAIL_H
#define WORKER_PROC_TAIL_H

#include <stdbool.h>

struct proc;

/*
 * Show what is kept, and with follow what comes, until there will be no more.
 * total counts those of a session.  fd is taken if it succeeds.  0, or -1 with
 * errno; EMFILE: there are LIMIT_TAILS.
 */
int	 tail_add(struct proc *p, unsigned *total, int fd, bool follow)
	    __attribute__((warn_unused_result));

#endif
