/*
 * The way from a master that died to the next one: when to look for its socket
 * in the run directory (RUNDIRS_ADOPT), and connecting to it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct successor {
	const char	*dir;		/* borrowed */
	uint64_t	 ttl;		/* ms; 0: none is looked for */
	uint64_t	 until;		/* clock_ms() */
	uint64_t	 pause;		/* ms, the next one */
	bool		 is_last;	/* attempt */
};

/* dir: "": none is looked for. */
void	 successor_init(struct successor *s, const char *dir, uint64_t ttl);

/* The master has died. */
void	 successor_begin(struct successor *s);

/*
 * Choose the pause before the next attempt, in ms: short ones at first.  0; or
 * -1: the time is over.
 */
int	 successor_pause(struct successor *s, uint64_t *ms_out) MUST_CHECK;

/* Connect, if one listens: a non-blocking descriptor, or -1. */
int	 successor_connect(const struct successor *s);
