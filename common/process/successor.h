/* From a master that died to the next, by the run directory (RUNDIRS_ADOPT). */
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

/* The pause before the next attempt: short ones first.  -1: time is over. */
int	 successor_pause(struct successor *s, uint64_t *ms_out) MUST_CHECK;

/* A non-blocking descriptor; -1: none listens. */
int	 successor_connect(const struct successor *s);
