/*
 * Penalties for wrong tokens: after LIMIT_FAILURES a source has to wait, each
 * time twice as long; forgotten after LIMIT_FAILURE_MEMORY without one.  The
 * least recent of LIMIT_FAILURE_SOURCES is replaced.  Pure; now is in ms,
 * monotonic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct penalties;

/* NULL with errno. */
struct penalties	*penalties_new(void);
void			 penalties_free(struct penalties **pp);

/* How long a source still has to wait, in ms; 0: it may try. */
uint64_t	 penalties_left(const struct penalties *p, const char *source,
		    uint64_t now);

/*
 * A source was refused; is_guess: for a wrong token, which is counted.  0, or
 * of how many refusals the log should be told now.
 */
unsigned	 penalties_add(struct penalties *p, const char *source,
		    bool is_guess, uint64_t now);
