/*
 * How long a process computes when it has its turn.  One that passes on what
 * others wait for asks for short turns: where all processors are busy the
 * scheduler then gives it the next one sooner, of which it has no more
 * altogether (sched(7), sched_setattr(2) with sched_runtime, from Linux 6.12).
 */
#ifndef COMMON_LINUX_SLICE_H
#define COMMON_LINUX_SLICE_H

/*
 * Short turns from now on, for this process alone: what it forks has those that
 * are usual.  Older kernels have no such thing; nor has a process that was
 * given precedence (nice(2)), since its children would lose that.
 */
void	 slice_short(void);

#endif
