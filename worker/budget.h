/*
 * Memory that a session takes for output and for a message that is not whole:
 * LIMIT_HELD_FREE for each, and what the master grants beyond that
 * (master/budget.h).  Output that gets none is put into the spool; a message
 * waits in its socket.
 */
#ifndef WORKER_BUDGET_H
#define WORKER_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct event;
struct session;

/* Embedded. */
struct budget {
	uint64_t	 output, message;	/* granted */
	uint64_t	 asked_output, asked_message;
	unsigned	 asking;	/* answers that are due */
	uint64_t	 refused;	/* ms: output got less than it asked */
	uint64_t	 wanted;	/* by a message that waits; or 0 */
	struct timer	 look_ev;
};

void	 budget_init(struct session *s);
void	 budget_fini(struct session *s);

/* There is no memory for more output: whether it shall wait for an answer. */
bool	 budget_output(struct session *s);

/* A message that is not whole wants so many bytes, in all. */
void	 budget_message(struct session *s, size_t want);

/* What the master says; it says nothing. */
void	 budget_answered(struct session *s, uint64_t output,
	    uint64_t message);
void	 budget_on_master_gone(struct session *s);

/* No message is read any more. */
void	 budget_on_conn_end(struct session *s);

#endif
