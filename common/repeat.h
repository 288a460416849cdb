/* A message that repeats: logged once, if it changes, hourly.  Pure; zeroed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REPEAT_MS	3600000

struct repeat {
	uint32_t	 hash;
	bool		 is_said;
	uint64_t	 at;		/* clock_ms() */
};

/* Whether to log it now; then it counts as logged. */
bool	 repeat_is_due(struct repeat *r, const char *text, uint64_t now);

/* It is over: log the next one. */
void	 repeat_end(struct repeat *r);
