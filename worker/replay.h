/*
 * A process/read whose answer would be longer than a message may be is answered
 * by the first part, as of a process that still runs; the rest follows as if it
 * happened now: output, exit and close, in order, before anything newer.  So a
 * client that asks once for all that it missed, as the stock one, gets it.
 */
#ifndef WORKER_REPLAY_H
#define WORKER_REPLAY_H

#include <stdint.h>

struct proc;
struct session;

/* What has a number above seq follows. */
void	 replay_begin(struct proc *p, uint64_t seq);

/* It need not any more. */
void	 replay_stop(struct proc *p);

/* Send what there is room for; at the end of a turn. */
void	 replay_go_on(struct session *s);

#endif
