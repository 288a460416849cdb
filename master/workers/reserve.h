/*
 * Descriptors kept for when all others are used up: who connects can then
 * still be looked at, and an operator be heard.
 */
#ifndef MASTER_WORKERS_RESERVE_H
#define MASTER_WORKERS_RESERVE_H

#include <stdbool.h>

#define RESERVE_MAX	8	/* some operators, and what looks at one */

struct reserve {
	int	 fd[RESERVE_MAX];	/* or -1 */
};

void	 reserve_init(struct reserve *r);
void	 reserve_fini(struct reserve *r);

/* Give them up for a moment; take back what can be had. */
void	 reserve_release(struct reserve *r);
void	 reserve_fill(struct reserve *r);

/* Whether there are too few others to look at one who connects. */
bool	 reserve_is_needed(void);

#endif
