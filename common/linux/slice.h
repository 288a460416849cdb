/*
 * Short time slices (sched(7), sched_runtime of sched_setattr(2), Linux 6.12):
 * a process that relays messages is scheduled sooner when all processors are
 * busy. A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

/* Of this process, not its children.  Does nothing below nice(2) 0. */
void	 slice_short(void);
