/*
 * Reaps the children of the master, and kills orphans: processes of dead
 * workers, reparented to the master as the subreaper (prctl(2)).  Embedded.
 *
 * The kernel's list of our children is as long as there are sessions, and to
 * wait for any of them walks it.  So a child is reaped that is known to have
 * exited, by the siginfo of SIGCHLD or the end of its channel; all of them are
 * looked at once for all exits of a while, in REAPER_PAUSE_MS at the earliest,
 * and for a small share of the time: to reap those whose signals were merged,
 * and for orphans.  An unknown child, a zombie too, is one: then passes over
 * all descendants follow until none is left.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

#define REAPER_PAUSE_MS	50	/* between two looks at all, at least */

struct reserve;

struct reaper_events {
	/* A child was reaped; status of waitpid(2).  Whether it was known. */
	bool	(*on_exit)(void *arg, pid_t pid, int status);

	/* An orphan was reaped; others may be left. */
	void	(*on_orphan)(void *arg);

	/* Whether a child is our own, which must not be killed. */
	bool	(*is_ours)(void *arg, pid_t pid);

	/* A child that is about to exit, or 0. */
	pid_t	(*next_exit)(void *arg);

	/* Whether the pids of all our own children are known. */
	bool	(*knows_all)(void *arg);

	/* No orphan is left, or LIMIT_ORPHANS has passed. */
	void	(*on_no_orphans)(void *arg);
};

struct reaper {
	const struct reaper_events *events;
	void		*arg;
	struct reserve	*reserve;	/* to read /proc; borrowed */
	struct timer	 reap_ev, orphan_ev;
	bool		 adopts;	/* foreign orphans as well */
	pid_t		*foreign;	/* children from before the exec */
	size_t		 nforeign;
	unsigned	 passes;	/* in a row without an orphan */
	unsigned	 reaped;	/* orphans since the last pass */
	uint64_t	 until;		/* clock_ms(); 0: no pass is due */
	uint64_t	 next;		/* clock_ms(); a look, passes begin */
	uint64_t	 looked;	/* clock_ms(), of the last look */
	uint64_t	 rest;		/* clock_ms(); no look before */
	uint64_t	 reap_rest;	/* the same, to reap any */
	bool		 is_scheduled;	/* reap_ev is set for that */
	uint64_t	*ranges;	/* to be killed */
	size_t		 nranges;
	unsigned	 range_passes;	/* in a row that found none of them */
	uint64_t	 range_until;	/* clock_ms() */
	struct timer	 range_ev;
};

/*
 * Existing children, which execve(2) keeps, are never killed.  adopts: neither
 * are orphans without a mark (ptree_is_marked()).
 */
void	 reaper_init(struct reaper *r, struct event_base *base,
	    struct reserve *reserve, bool adopts,
	    const struct reaper_events *events, void *arg);
void	 reaper_fini(struct reaper *r);

/* SIGCHLD came, with this pid: reap it now, and soon others. */
void	 reaper_on_signal(struct reaper *r, pid_t pid);

/* Reap all in the next turn of the loop. */
void	 reaper_schedule(struct reaper *r);

/*
 * Look for orphans soon, and kill them if there are any.  is_urgent: in
 * REAPER_PAUSE_MS at the latest, however long a look takes.
 */
void	 reaper_look(struct reaper *r, bool is_urgent);

/* Kill orphans, in passes, until three in a row find none. */
void	 reaper_kill_orphans(struct reaper *r);

/*
 * Kill the processes of a range of marks (ptree_new_range(); 0: none), wherever
 * they are: their worker died and was not our child.
 */
void	 reaper_kill_range(struct reaper *r, uint64_t first);

/* Whether the last passes found none. */
bool	 reaper_has_no_orphans(const struct reaper *r);
