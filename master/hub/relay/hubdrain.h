/* Emptying a hub: it takes no executors, and closes its own, used ones last. */
#pragma once

#include <stdbool.h>

#include "common/ev.h"
#include "master/hub/relay/switchboard.h"

/* Embedded; is_on may be read. */
struct hubdrain {
	bool			 is_on;
	uint64_t		 began, time;	/* ms */
	size_t			 total;		/* executors at its beginning */
	size_t			 closed;
	struct switchboard	*board;
	struct timer		 timer;
};

void	 hubdrain_init(struct hubdrain *d, struct event_base *base,
	    struct switchboard *b);

/* Over some ms; a second call changes nothing. */
void	 hubdrain_begin(struct hubdrain *d, uint64_t ms);
void	 hubdrain_end(struct hubdrain *d);	/* take executors again */
