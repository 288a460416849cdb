/*
 * Files whose new content the system is to begin writing out (fswrite.c says
 * why): soon, but not between two requests.  Who writes the same name again
 * and again pays for the last one only, since the others have no name any more
 * by then.
 */
#ifndef WORKER_FS_BEHIND_H
#define WORKER_FS_BEHIND_H

#include <stdint.h>

#define BEHIND_MS	20	/* so long one waits at most */
#define BEHIND_FILES	16

/* All zero: none. */
struct behind {
	int		 fds[BEHIND_FILES];
	unsigned	 n;
	uint64_t	 due;		/* clock_ms(), of the first */
};

/* Take *fdp, which becomes -1; -1 is fine. */
void	 behind_add(struct behind *b, int *fdp);

/* ms until behind_flush() is due, or -1: there is none. */
int	 behind_wait_ms(const struct behind *b);

/* Begin with all of them, and close them. */
void	 behind_flush(struct behind *b);

#endif
