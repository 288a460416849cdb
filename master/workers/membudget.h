/*
 * A budget of memory for queued output and messages, over all sessions.  A
 * session may use LIMIT_HELD_FREE; for more its worker asks first.  If refused,
 * output goes to a file, and a message stays in the socket until there is room.
 * For a message one session of each identity at a time may exceed the limit of
 * that identity, and one session the limit of all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct membudget;
struct share;			/* of a session; NULL: none yet */

/* That a session holds, or asks for: bytes above LIMIT_HELD_FREE. */
struct held {
	uint64_t	 output;
	uint64_t	 message;
};

/* NULL with errno. */
struct membudget	*membudget_new(void);

/* No share may be left. */
void		 membudget_free(struct membudget **bp);

/*
 * Ask that a session may hold want in all.  Limits: user_max for an identity
 * (copied), max for all; 0: none.  Returns the grant, never less than the
 * smaller of want and the grant before.
 */
struct held	 membudget_ask(struct membudget *b, struct share **sp,
		    const char *identity, struct held want, uint64_t user_max,
		    uint64_t max);

void		 membudget_leave(struct membudget *b, struct share **sp);

/* The bytes granted to all sessions. */
uint64_t	 membudget_total(const struct membudget *b);
