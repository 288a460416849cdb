/*
 * File descriptors in reserve: when all others are used up, peers can still be
 * identified and operators accepted.
 */
#pragma once

#include <stdbool.h>

#define RESERVE_MAX	8	/* for operators and one peer_identify() */

struct reserve {
	int	 fd[RESERVE_MAX];	/* or -1 */
};

void	 reserve_init(struct reserve *r);
void	 reserve_fini(struct reserve *r);

/* Close the reserve for a moment; reopen as many as possible. */
void	 reserve_release(struct reserve *r);
void	 reserve_fill(struct reserve *r);

/* Whether too few descriptors are free for peer_identify(). */
bool	 reserve_is_needed(void);
