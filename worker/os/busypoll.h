/*
 * Waiting awake: who is asked again and again in quick succession looks for the
 * next request instead of sleeping until it comes.  A processor with nothing
 * else to do halts, and takes up to 60 us to wake up again, above all in a
 * virtual machine; most requests take less.
 *
 * Only while requests keep coming (BUSYPOLL_STREAK of them, each BUSYPOLL_GAP
 * at most after the turn with the one before), for BUSYPOLL_POLL after each,
 * which an agent needs for most of what it does, and never at the cost of
 * others: it yields each time it looks, and when that takes long, since
 * somebody else computes, it sleeps as usual for BUSYPOLL_PAUSE, and for longer
 * when that happens again soon.  (Without that it would lose the precedence of
 * who has slept: with a load of 8 an echo took 2.6 ms, not 0.1.  With more
 * patience for gaps a sandboxed write takes twice as long with a load of 4.)
 * An agent that it waits for is no such somebody for as long as its own turn
 * may last.
 *
 * All times are microseconds of clock_us().  Pure.
 */
#ifndef WORKER_OS_BUSYPOLL_H
#define WORKER_OS_BUSYPOLL_H

#include <stdbool.h>
#include <stdint.h>

#define BUSYPOLL_STREAK	8
#define BUSYPOLL_GAP	250
#define BUSYPOLL_POLL	200
#define BUSYPOLL_YIELD	200		/* longer: somebody else computes */
#define BUSYPOLL_YIELD_TO	400	/* the same while an agent works */
#define BUSYPOLL_PAUSE	30000
#define BUSYPOLL_PAUSE_2	100000
#define BUSYPOLL_SOON	100000		/* after a pause */

struct busypoll {
	bool		 may;		/* at all */
	bool		 asked;		/* in this turn */
	bool		 stays;
	unsigned	 streak;	/* requests, at most BUSYPOLL_STREAK */
	uint64_t	 last;		/* when a turn with one ended */
	uint64_t	 paused_until;
};

void	 busypoll_init(struct busypoll *a, bool may);

/* A request came, or all that an agent has to say to one. */
void	 busypoll_asked(struct busypoll *a, uint64_t now);

/* A turn ended.  Whether to look again, after a yield, instead of sleeping. */
bool	 busypoll_stays(struct busypoll *a, uint64_t now);

/* That yield, from then until now; for_agent: one of ours was at work. */
void	 busypoll_yielded(struct busypoll *a, uint64_t then, uint64_t now,
	    bool for_agent);

#endif
