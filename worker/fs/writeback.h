/*
 * Files whose new content the system is to begin writing out (fswrite.c says
 * why): soon, but not between two requests.  Who writes the same name again
 * and again pays for the last one only, since the others have no name any more
 * by then.
 */
#ifndef WORKER_FS_WRITEBACK_H
#define WORKER_FS_WRITEBACK_H

#include <stdint.h>

#define WRITEBACK_MS	20	/* so long one waits at most */
#define WRITEBACK_FILES	16

/* All zero: none. */
struct writeback {
	int		 fds[WRITEBACK_FILES];
	unsigned	 n;
	uint64_t	 due;		/* clock_ms(), of the first */
};

/* Take *fdp, which becomes -1; -1 is fine. */
void	 writeback_add(struct writeback *b, int *fdp);

/* ms until writeback_flush() is due, or -1: there is none. */
int	 writeback_wait_ms(const struct writeback *b);

/* Begin with all of them, and close them. */
void	 writeback_flush(struct writeback *b);

#endif
