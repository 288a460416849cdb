/*
 * Start writeback of written files (fswrite.c says why) soon, but not while
 * requests arrive.  A file that is replaced again meanwhile has no name and
 * costs nothing.
 * A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

#include <stdint.h>

#define WRITEBACK_MS	20	/* maximum delay */
#define WRITEBACK_FILES	16

/* All zero: empty. */
struct writeback {
	int		 fds[WRITEBACK_FILES];
	unsigned	 n;
	uint64_t	 due;		/* clock_ms(), of the first */
};

/* Take over *fdp, set to -1; -1 is fine. */
void	 writeback_add(struct writeback *b, int *fdp);

/* Return ms until writeback_flush() is due, or -1. */
int	 writeback_wait_ms(const struct writeback *b);

/* Start writeback of all files and close them. */
void	 writeback_flush(struct writeback *b);
