/*
 * What becomes of output when DetachedSpool is full: it is held back by the
 * pipes of its commands, or the oldest makes room (DetachedOverflow).  The
 * client hears of it when it comes back.
 */
#ifndef WORKER_PROC_OVERFLOW_H
#define WORKER_PROC_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

struct json_out;
struct env;
struct procs;
struct window;

/* Of a session, since its client left.  Embedded. */
struct overflow {
	const struct env *env;
	struct procs	*procs;
	const struct window *window;
	uint64_t	 since;		/* ms: something is held back; or 0 */
	bool		 is_dropping;
	/* What there is to tell: */
	uint64_t	 held_ms;
	uint64_t	 dropped;	/* bytes */
};

void	 overflow_init(struct overflow *o, const struct env *env,
	    struct procs *procs, const struct window *window);

/* Nobody is attached: whether there is room for more output; or is made. */
bool	 overflow_has_room(const struct overflow *o);
bool	 overflow_make_room(struct overflow *o);

/* A client is back, before it sees anything. */
void	 overflow_end(struct overflow *o);

/* Members of the answer to its initialize, if there is something to tell. */
void	 overflow_tell(const struct overflow *o, struct json_out *out);

#endif
