/*
 * Writeback of written files (fswrite.c says why) soon, not while requests
 * arrive. A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

#include <stdint.h>

#define WRITEBACK_MS	20	/* maximum delay */
#define WRITEBACK_FILES	16

/* Zeroed: empty. */
struct writeback {
	int		 fds[WRITEBACK_FILES];
	unsigned	 n;
	uint64_t	 due;		/* clock_ms(), of the first */
};

/* Takes *fdp (or -1). */
void	 writeback_add(struct writeback *b, int *fdp);

/* Ms until writeback_flush(), or -1. */
int	 writeback_wait_ms(const struct writeback *b);

/* Of all; closes them. */
void	 writeback_flush(struct writeback *b);
