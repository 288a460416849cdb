/*
 * Memory for output and messages that wait, in the sessions of all users.  A
 * session has LIMIT_HELD_FREE; for more its worker asks, and does not take it
 * before it is answered.  What is refused costs nobody anything: output goes
 * into a file, and a message is left in the socket until there is room.
 *
 * A message needs all of what it asks for, or never ends.  So one at a time is
 * let in whatever the others hold: of each identity, and of the server.
 */
#ifndef MASTER_WORKERS_MEMBUDGET_H
#define MASTER_WORKERS_MEMBUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct membudget;
struct share;			/* of one session; NULL: it has none */

/* What one session holds, or wants to, in bytes beyond LIMIT_HELD_FREE. */
struct held {
	uint64_t	 output;
	uint64_t	 message;
};

/* An empty one; NULL with errno. */
struct membudget	*membudget_new(void);

/* When nobody has a share. */
void		 membudget_free(struct membudget **bp);

/*
 * A session of that identity (which is copied) wants to hold so much in all;
 * of one identity shall be held user_max at most, of all max; 0: any.  What it
 * may: never less than it had and still wants.
 */
struct held	 membudget_ask(struct membudget *b, struct share **sp,
		    const char *identity, struct held want, uint64_t user_max,
		    uint64_t max);

/* It holds nothing any more. */
void		 membudget_leave(struct membudget *b, struct share **sp);

/* What all hold. */
uint64_t	 membudget_total(const struct membudget *b);

#endif
