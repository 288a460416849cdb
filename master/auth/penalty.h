/*
 * Penalties for wrong tokens: after LIMIT_FAILURES a source has to wait, each
 * time twice as long; forgotten after LIMIT_FAILURE_MEMORY without one.  The
 * table has LIMIT_FAILURE_SOURCES; the least recent is replaced.  Pure; now is
 * in ms, monotonic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct penalties;

/* An empty table; NULL with errno. */
struct penalties	*penalties_new(void);
void			 penalties_free(struct penalties **pp);

/* How long a source still has to wait, in ms; 0: it may try. */
uint64_t	 penalties_left(const struct penalties *p, const char *source,
		    uint64_t now);

/*
 * A source was refused; is_guess: for a wrong token, which is counted.  Return
 * 0, or that the log should be told now, of so many refusals: once per
 * LIMIT_FAILURE_TOLD for a source, LIMIT_FAILURE_LINES per second for all.
 */
unsigned	 penalties_add(struct penalties *p, const char *source,
		    bool is_guess, uint64_t now);
