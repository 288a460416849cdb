/*
 * What becomes of output when DetachedSpool is full: it is held back by the
 * pipes of its commands, or the oldest makes room (DetachedOverflow).  The
 * client hears of it when it comes back.
 */
#ifndef WORKER_OVERFLOW_H
#define WORKER_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

struct json_out;
struct session;

/* Since the client left.  Embedded; zeros at first. */
struct overflow {
	uint64_t	 since;		/* ms: something is held back; or 0 */
	bool		 is_dropping;
	/* What there is to tell: */
	uint64_t	 held_ms;
	uint64_t	 dropped;	/* bytes */
};

/* Nobody is attached and there is no room: whether there is now. */
bool	 overflow_make_room(struct session *s);

/* A client is back, before it sees anything. */
void	 overflow_end(struct session *s);

/* Members of the answer to its initialize, if there is something to tell. */
void	 overflow_tell(struct session *s, struct json_out *o);

#endif
