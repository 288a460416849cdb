/* A token bucket of one second's messages, full at first.  Pure. */
#pragma once

#include <stdint.h>

struct ratelimit {
	uint32_t	 rate;		/* per second; 0: unlimited */
	int64_t		 level;		/* thousandths of a token */
	uint64_t	 last;		/* ms */
};

void		 ratelimit_init(struct ratelimit *b, uint32_t rate,
	    uint64_t now);

/* 0, or the ms until the next message. */
unsigned	 ratelimit_take(struct ratelimit *b, uint64_t now);
