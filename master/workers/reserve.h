/* Descriptors for operators and peer_identify() when all others are used. */
#pragma once

#include <stdbool.h>

#define RESERVE_MAX	8	/* for operators and one peer_identify() */

struct reserve {
	int	 fd[RESERVE_MAX];	/* or -1 */
};

void	 reserve_init(struct reserve *r);
void	 reserve_fini(struct reserve *r);

/* Close them for a moment; reopen as many as possible. */
void	 reserve_release(struct reserve *r);
void	 reserve_fill(struct reserve *r);

/* Whether too few descriptors are free for peer_identify(). */
bool	 reserve_is_needed(void);
