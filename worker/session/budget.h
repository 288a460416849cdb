/*
 * Memory that a session takes for output and for a message that is not whole:
 * LIMIT_HELD_FREE for each, and what the master grants beyond that
 * (master/workers/membudget.h).  Output that gets none is put into the spool; a
 * message waits in its socket.
 */
#ifndef WORKER_SESSION_BUDGET_H
#define WORKER_SESSION_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"
#include "worker/proc/retain.h"

/* What it is about. */
struct budget_events {
	/* Ask the master for that much.  0, or -1: there is none. */
	int	(*ask)(void *arg, uint64_t output, uint64_t message);

	/* A message that is not whole may have so many bytes. */
	void	(*allow)(void *arg, size_t bytes);

	/* How many bytes of one there are. */
	size_t	(*unfinished)(const void *arg);
};

/* Embedded. */
struct budget {
	const struct budget_events *events;
	void		*arg;
	struct window	*window;	/* of the output */
	uint64_t	 output, message;	/* granted */
	uint64_t	 asked_output, asked_message;
	unsigned	 asking;	/* answers that are due */
	uint64_t	 refused;	/* ms: output got less than it asked */
	uint64_t	 wanted;	/* by a message that waits; or 0 */
	struct timer	 look_ev;
};

void	 budget_init(struct budget *b, struct event_base *base,
	    struct window *w, const struct budget_events *events, void *arg);
void	 budget_fini(struct budget *b);

/* There is no memory for more output: whether it shall wait for an answer. */
bool	 budget_output(struct budget *b);

/* A message that is not whole wants so many bytes, in all. */
void	 budget_message(struct budget *b, size_t want);

/* What the master says; it says nothing. */
void	 budget_answered(struct budget *b, uint64_t output,
	    uint64_t message);
void	 budget_on_master_gone(struct budget *b);

/* No message is read any more. */
void	 budget_on_conn_end(struct budget *b);

#endif
