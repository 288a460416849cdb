/*
 * Busy polling: while requests arrive in quick succession, poll for the next
 * one instead of sleeping.  An idle processor halts, and waking it takes longer
 * than most requests do, above all in a virtual machine.
 *
 * Polls for BUSYPOLL_POLL after each request, once BUSYPOLL_STREAK of them came
 * within BUSYPOLL_GAP of each other.  Calls sched_yield(2) between polls.  A
 * slow yield means that another process has the processor: then sleep as usual
 * for BUSYPOLL_PAUSE, four times as long whenever it happens again soon, to
 * keep the scheduler's credit for sleepers.  While an agent works for us yields
 * may be slower.
 *
 * Never where the processor time is limited: polling would use up the quota of
 * the control group, or the only processor, that the commands need.
 *
 * All times are microseconds of clock_us().  Pure but for
 * busypoll_has_processors().
 * A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUSYPOLL_STREAK	8
#define BUSYPOLL_GAP	250
#define BUSYPOLL_POLL	200
#define BUSYPOLL_YIELD	200		/* a slow yield */
#define BUSYPOLL_YIELD_TO	400	/* the same while an agent works */
#define BUSYPOLL_PAUSE	30000
#define BUSYPOLL_PAUSE_MAX	5000000
#define BUSYPOLL_SOON	100000		/* after the end of a pause */

struct busypoll {
	bool		 enabled;
	bool		 is_checked;	/* is_useful was asked */
	bool		 (*is_useful)(void);
	bool		 had_request;	/* in this turn of the loop */
	bool		 polling;
	unsigned	 streak;	/* requests, at most BUSYPOLL_STREAK */
	uint64_t	 last;		/* end of the last turn with one */
	uint64_t	 pause;		/* the last one */
	uint64_t	 paused_until;
};

/*
 * is_useful: whether to do it at all on this machine; asked once, before the
 * first poll.  NULL: it is.
 */
void	 busypoll_init(struct busypoll *a, bool enabled,
	    bool (*is_useful)(void));

/*
 * Whether the calling process may run on more than one processor, and neither
 * its control group nor one above has a quota of processor time.
 */
bool	 busypoll_has_processors(void);

/*
 * Whether the text of cpu.max (version 2) or cpu.cfs_quota_us (version 1) is a
 * quota.
 */
bool	 busypoll_is_quota(const char *text);

/* A request arrived, or an agent's answer. */
void	 busypoll_request(struct busypoll *a, uint64_t now);

/* End a turn.  Return whether to yield and poll instead of sleeping. */
bool	 busypoll_should_poll(struct busypoll *a, uint64_t now);

/* Report the time of that yield; for_agent: an agent of ours was at work. */
void	 busypoll_yielded(struct busypoll *a, uint64_t then, uint64_t now,
	    bool for_agent);
