/*
 * Operators who look at the output of a process: a descriptor each, at whose
 * other end one reads (proto/ipc.def, tail_piece).  They only look: what is
 * kept, and for how long, does not depend on them, and who reads slowly misses
 * what is dropped meanwhile.  Nothing is copied before it can be sent.
 */
#ifndef WORKER_TAIL_H
#define WORKER_TAIL_H

#include <stdbool.h>
#include <stdint.h>

struct proc;

/*
 * Show what is kept, and with follow what comes, until the process is closed.
 * fd is taken if it succeeds.  0, or -1 with errno; EMFILE: LIMIT_TAILS.
 */
int	 tail_new(struct proc *p, int fd, bool follow)
	    __attribute__((warn_unused_result));

/* There is more of it, or will be no more. */
void	 tail_wake_all(struct proc *p);

/* What had a number above after has one that is lower by that now. */
void	 tail_renumber(struct proc *p, uint64_t after, uint64_t by);

/* The process is forgotten. */
void	 tail_free_all(struct proc *p);

#endif
