/*
 * The time slice of the scheduler (sched(7), sched_runtime of sched_setattr(2),
 * Linux 6.12).  With a short one a process is scheduled sooner when all
 * processors are busy, for the same share of time: good for a process that
 * relays messages.
 * A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

/*
 * Ask for short slices for this process; its children have default ones.  Does
 * nothing on older kernels, or below nice(2) 0, which children would lose.
 */
void	 slice_short(void);
