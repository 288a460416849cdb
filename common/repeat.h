/*
 * A message that repeats itself, as of a server that is down: said once, then
 * again when it changes, and once an hour.  Pure; zeroed: nothing was said.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REPEAT_MS	3600000		/* between two of one text */

struct repeat {
	uint32_t	 hash;		/* of the text */
	bool		 is_said;
	uint64_t	 at;		/* clock_ms() */
};

/* Whether to say a text now; it then counts as said. */
bool	 repeat_is_due(struct repeat *r, const char *text, uint64_t now);

/* What it was about is over: say the next one. */
void	 repeat_end(struct repeat *r);
