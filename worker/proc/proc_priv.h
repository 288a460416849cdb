/* Internal to worker/proc/proc*.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct proc;
struct procs;
struct stream;

/* --- proc_out.c --- */

void	 procs_out_init(struct procs *ps);
void	 procs_out_fini(struct procs *ps);

/* fd -1: none.  -1 with errno. */
int	 proc_stream_init(struct stream *st, struct proc *p, int fd,
	    uint8_t stream) MUST_CHECK;
void	 proc_stream_end(struct stream *st);

/* The rest, of a terminated process. */
void	 proc_drain(struct proc *p);

/* --- proc_kill.c --- */

bool	 proc_is_being_killed(const struct proc *p);
void	 proc_kill_again(struct proc *p);

/* --- proc.c --- */

/* If it has exited and all output is at EOF. */
void	 proc_maybe_close(struct proc *p);
