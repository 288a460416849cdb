/* When to try the next connection, and for how long.  Pure; in ms. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/client/execsrv.h"

struct recovery {
	int			 recover_ms;	/* ms; 0: no recovery */
	bool			 has_progress;	/* something came since then */
	uint64_t		 deadline;	/* of recovery; of opening */
	uint64_t		 attempt_at;	/* it begins, or is given up */
	unsigned		 backoff;	/* ms before the next attempt */
	unsigned		 read_max;
	struct execsrv_error	 why;		/* it was lost, or not made */
};

void	 recovery_init(struct recovery *r);

/* Recover for ms at the most; 0: never. */
void	 recovery_set_limit(struct recovery *r, int ms);
bool	 recovery_is_enabled(const struct recovery *r);

/* The first connection: an attempt now, for ms. */
void	 recovery_open(struct recovery *r, uint64_t now, int ms);

/* Give the attempt ms from now on; is_all: the whole opening, too. */
void	 recovery_allow(struct recovery *r, uint64_t now, int ms, bool is_all);

/*
 * Next attempt: in ms; after a backoff, as this failed; the shortest backoff.
 */
void	 recovery_retry_in(struct recovery *r, uint64_t now, unsigned ms);
void	 recovery_failed(struct recovery *r, uint64_t now,
	    const struct execsrv_error *why);
void	 recovery_reset_backoff(struct recovery *r);

/*
 * A connection is lost: set the time of the next attempt and, if there was
 * progress on it, a new deadline.  was_behind: it was lost while missed output
 * was read, which is then read in smaller pieces.
 */
void	 recovery_lost(struct recovery *r, uint64_t now,
	    const struct execsrv_error *why, bool was_behind);
const struct execsrv_error *recovery_why(const struct recovery *r);

/* A request was answered, or output came. */
void	 recovery_progress(struct recovery *r);

/* Whether the deadline has passed; an attempt begins or ends; ms to these. */
bool	 recovery_is_over(const struct recovery *r, uint64_t now);
bool	 recovery_is_due(const struct recovery *r, uint64_t now);
int	 recovery_wait_ms(const struct recovery *r, uint64_t now);

unsigned recovery_read_max(const struct recovery *r);
