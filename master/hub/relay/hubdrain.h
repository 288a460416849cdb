/*
 * Emptying a hub: it takes no executors any more, and closes its own at a rate,
 * those without harnesses first, so that each of them moves once.
 */
#pragma once

#include <stdbool.h>

#include "common/ev.h"
#include "master/hub/relay/switchboard.h"

/* Embedded; is_on may be read. */
struct hubdrain {
	bool			 is_on;
	size_t			 each;		/* executors per turn */
	struct switchboard	*board;
	struct timer		 timer;
};

void	 hubdrain_init(struct hubdrain *d, struct event_base *base,
	    struct switchboard *b);
void	 hubdrain_begin(struct hubdrain *d);
void	 hubdrain_end(struct hubdrain *d);	/* take executors again */
