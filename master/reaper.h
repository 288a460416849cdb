/*
 * Reaps the children of the master, and kills orphans: what a dead worker left
 * behind, which comes to the master as the subreaper (prctl(2)).  Embedded.
 */
#ifndef MASTER_REAPER_H
#define MASTER_REAPER_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct reserve;

struct reaper_events {
	/* A child ended; status as waitpid(2).  Whether it was known. */
	bool	(*on_exit)(void *arg, pid_t pid, int status);

	/* An orphan of ours ended; others may be left. */
	void	(*on_orphan)(void *arg);

	/* Whether a child is one of our own, which is not to be killed. */
	bool	(*is_ours)(void *arg, pid_t pid);

	/* Whether the pid of each own child is known by now. */
	bool	(*knows_all)(void *arg);

	/* No orphan is left, or LIMIT_ORPHANS is over. */
	void	(*on_no_orphans)(void *arg);
};

struct reaper {
	const struct reaper_events *events;
	void		*arg;
	struct reserve	*reserve;	/* for the look at /proc; borrowed */
	struct timer	 reap_ev, orphan_ev;
	bool		 adopts;	/* orphans that are not ours as well */
	pid_t		*foreign;	/* children since before the exec */
	size_t		 nforeign;
	unsigned	 passes;	/* that found no orphan, in a row */
	unsigned	 reaped;	/* orphans since the last pass */
	uint64_t	 until;		/* clock_ms(); 0: no pass is due */
};

/*
 * Children that there are already are left alone for good: execve(2) keeps
 * them.  adopts: unmarked orphans (ptree_is_marked()) are not ours.
 */
void	 reaper_init(struct reaper *r, struct event_base *base,
	    struct reserve *reserve, bool adopts,
	    const struct reaper_events *events, void *arg);
void	 reaper_fini(struct reaper *r);

/* Reap in the next turn: SIGCHLD came. */
void	 reaper_reap_soon(struct reaper *r);

/* Kill orphans, in passes, until three in a row find none. */
void	 reaper_kill_orphans(struct reaper *r);

/* Whether the last passes found none. */
bool	 reaper_has_no_orphans(const struct reaper *r);

#endif
