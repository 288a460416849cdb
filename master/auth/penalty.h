/*
 * Who showed wrong tokens: a source may be wrong LIMIT_FAILURES times, then it
 * waits, each time twice as long, until nothing came for LIMIT_FAILURE_MEMORY.
 * A table of LIMIT_FAILURE_SOURCES: the one that was quiet longest gives way.
 * Pure: the time (ms, monotonic) is an argument.
 */
#ifndef MASTER_AUTH_PENALTY_H
#define MASTER_AUTH_PENALTY_H

#include <stdbool.h>
#include <stdint.h>

struct penalties;

/* An empty table; NULL with errno. */
struct penalties	*penalties_new(void);
void			 penalties_free(struct penalties **pp);

/* How long a source still has to wait, in ms; 0: not at all. */
uint64_t	 penalties_left(const struct penalties *p, const char *source,
		    uint64_t now);

/*
 * A source was refused; is_guess: for a wrong token, which counts.  How many
 * times since the log was last told of it if the log shall be told now, else
 * 0: once in LIMIT_FAILURE_TOLD for a source, LIMIT_FAILURE_LINES in a second
 * for all of them.
 */
unsigned	 penalties_add(struct penalties *p, const char *source,
		    bool is_guess, uint64_t now);

#endif
