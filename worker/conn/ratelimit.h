/*
 * How many messages may come: a bucket of tokens that is full at first and
 * refilled steadily, and holds those of one second.  Pure.
 */
#ifndef WORKER_CONN_RATELIMIT_H
#define WORKER_CONN_RATELIMIT_H

#include <stdint.h>

struct ratelimit {
	uint32_t	 rate;		/* in a second; 0: any number */
	int64_t		 level;		/* thousandths of a token */
	uint64_t	 last;		/* ms */
};

void		 ratelimit_init(struct ratelimit *b, uint32_t rate,
	    uint64_t now);

/* A message came.  0, or the milliseconds after which the next one may. */
unsigned	 ratelimit_take(struct ratelimit *b, uint64_t now);

#endif
