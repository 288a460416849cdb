/*
 * Operators who look at the output of a process: a descriptor each, at whose
 * other end one reads (proto/ipc.def, tail_piece).  They only look: what is
 * kept, and for how long, does not depend on them, and who reads slowly misses
 * what is dropped meanwhile.  Nothing is copied before it can be sent.
 */
#ifndef WORKER_TAIL_H
#define WORKER_TAIL_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "worker/ring.h"

struct tail;

/* Those of one process. Embedded. */
struct tails {
	TAILQ_HEAD(, tail)	 list;
	struct event_base	*base;
	struct ring		*ring;		/* its output */
	unsigned		*total;		/* of all processes */
	bool			 is_over;	/* no more will come */
};

void	 tails_init(struct tails *ts, struct event_base *base,
	    struct ring *ring, unsigned *total);
void	 tails_fini(struct tails *ts);

/*
 * Show what is kept, and with follow what comes, until there will be no more.
 * fd is taken if it succeeds.  0, or -1 with errno; EMFILE: LIMIT_TAILS.
 */
int	 tails_add(struct tails *ts, int fd, bool follow)
	    __attribute__((warn_unused_result));

/* There is more; there will be no more. */
void	 tails_wake(struct tails *ts);
void	 tails_end(struct tails *ts);

/* What had a number above after has one that is lower by that now. */
void	 tails_renumber(struct tails *ts, uint64_t after, uint64_t by);

#endif
