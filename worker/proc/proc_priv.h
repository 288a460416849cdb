/* What the files of a process share; for proc*.c only. */
#ifndef WORKER_PROC_PROC_PRIV_H
#define WORKER_PROC_PROC_PRIV_H

#include "worker/proc/proc.h"

/* --- proc_out.c: what it puts out --- */

void	 procs_out_init(struct procs *ps);
void	 procs_out_fini(struct procs *ps);

/* Read fd (-1: there is none) from now on.  0, or -1 with errno. */
int	 proc_stream_init(struct stream *st, struct proc *p, int fd,
	    uint8_t stream) __attribute__((warn_unused_result));
void	 proc_stream_end(struct stream *st);

/* What is in the pipes of a terminated process: what they hold, no more. */
void	 proc_drain(struct proc *p);

/* --- proc_kill.c: how it is ended --- */

/* Whether it was terminated, and more is to be done for that: the next pass. */
bool	 proc_is_being_killed(const struct proc *p);
void	 proc_kill_again(struct proc *p);

/* --- proc.c --- */

/* Close it if it has exited and its output is at its end. */
void	 proc_maybe_close(struct proc *p);

#endif
