/*
 * Memory for output and for an incomplete message: LIMIT_HELD_FREE each, then
 * what the master grants (master/workers/membudget.h).  Without it output goes
 * to the spool, and a message waits in its socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"
#include "worker/proc/retain.h"

struct budget_events {
	/* Ask the master for bytes.  -1: there is none. */
	int	(*ask)(void *arg, uint64_t output, uint64_t message);

	/* Allow an incomplete message so much. */
	void	(*allow)(void *arg, size_t bytes);

	/* Bytes of the incomplete message. */
	size_t	(*unfinished)(const void *arg);
};

/* Embedded. */
struct budget {
	const struct budget_events *events;
	void		*arg;
	struct window	*window;	/* of the output */
	uint64_t	 output, message;	/* granted */
	uint64_t	 asked_output, asked_message;
	unsigned	 asking;	/* outstanding answers */
	uint64_t	 refused;	/* ms: last refusal of output; or 0 */
	uint64_t	 wanted;	/* bytes, by a waiting message; or 0 */
	struct timer	 look_ev;
};

void	 budget_init(struct budget *b, struct event_base *base,
	    struct window *w, const struct budget_events *events, void *arg);
void	 budget_fini(struct budget *b);

/* For more output.  Whether to wait for the answer. */
bool	 budget_output(struct budget *b);

/* For an incomplete message of want bytes in all. */
void	 budget_message(struct budget *b, size_t want);

void	 budget_answered(struct budget *b, uint64_t output,
	    uint64_t message);
void	 budget_on_master_gone(struct budget *b);

void	 budget_on_conn_end(struct budget *b);
