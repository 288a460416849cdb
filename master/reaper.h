/*
 * Reaps the children of the master, and kills orphans: processes of dead
 * workers, reparented to the master as the subreaper (prctl(2)).  Embedded.
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
	/* Reaped; status of waitpid(2).  Whether it was known. */
	bool	(*on_exit)(void *arg, pid_t pid, int status);

	/* Reaped; others may be left. */
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
	uint64_t	*ranges;
	size_t		 nranges;
	unsigned	 range_passes;	/* in a row that found none of them */
	uint64_t	 range_until;	/* clock_ms() */
	struct timer	 range_ev;
};

/*
 * Existing children are never killed; adopts: nor are orphans without a mark.
 */
void	 reaper_init(struct reaper *r, struct event_base *base,
	    struct reserve *reserve, bool adopts,
	    const struct reaper_events *events, void *arg);
void	 reaper_fini(struct reaper *r);

/* SIGCHLD came, with this pid; reap all in the next turn of the loop. */
void	 reaper_on_signal(struct reaper *r, pid_t pid);
void	 reaper_schedule(struct reaper *r);

/* Look soon; is_urgent: in REAPER_PAUSE_MS, however long a look takes. */
void	 reaper_look(struct reaper *r, bool is_urgent);

/* Kill orphans, in passes, until three in a row find none. */
void	 reaper_kill_orphans(struct reaper *r);

/* Kill those with a range of marks (ptree_new_range(); 0: none), anywhere. */
void	 reaper_kill_range(struct reaper *r, uint64_t first);

/* Whether the last passes, over both, found none. */
bool	 reaper_has_no_orphans(const struct reaper *r);
