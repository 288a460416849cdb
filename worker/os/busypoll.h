/*
 * Busy polling: while requests arrive in quick succession, poll for the next
 * one: to wake an idle processor takes longer, above all in a virtual machine.
 *
 * Once BUSYPOLL_STREAK requests came within BUSYPOLL_GAP of each other, polls
 * for BUSYPOLL_POLL after each, with sched_yield(2).  A slow yield means that
 * another process has the processor: then sleep for BUSYPOLL_PAUSE, four times
 * as long if it happens soon again.  Never where processor time is limited, as
 * commands need it.
 *
 * Times are microseconds of clock_us().  Pure but for
 * busypoll_has_processors(). A trick (common/trick.h): t/bench/RESULTS.md has
 * what it pays.
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

/* is_useful: on this machine?  Asked once, before the first poll; NULL: yes. */
void	 busypoll_init(struct busypoll *a, bool enabled,
	    bool (*is_useful)(void));

/* More than one processor, and no quota of time for our control groups. */
bool	 busypoll_has_processors(void);

/* Text of cpu.max (version 2) or cpu.cfs_quota_us (version 1). */
bool	 busypoll_is_quota(const char *text);

/* Or an agent's answer. */
void	 busypoll_request(struct busypoll *a, uint64_t now);

/* End a turn: yield and poll instead of sleeping? */
bool	 busypoll_should_poll(struct busypoll *a, uint64_t now);

/* The time of that yield; for_agent: our agent was at work. */
void	 busypoll_yielded(struct busypoll *a, uint64_t then, uint64_t now,
	    bool for_agent);
