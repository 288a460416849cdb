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

struct reserve;

struct reaper_events {
	/* A child was reaped; status of waitpid(2).  Whether it was known. */
	bool	(*on_exit)(void *arg, pid_t pid, int status);

	/* An orphan was reaped; others may be left. */
	void	(*on_orphan)(void *arg);

	/* Whether a child is our own, which must not be killed. */
	bool	(*is_ours)(void *arg, pid_t pid);

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
};

/*
 * Existing children, which execve(2) keeps, are never killed.  adopts: neither
 * are orphans without a mark (ptree_is_marked()).
 */
void	 reaper_init(struct reaper *r, struct event_base *base,
	    struct reserve *reserve, bool adopts,
	    const struct reaper_events *events, void *arg);
void	 reaper_fini(struct reaper *r);

/* Reap in the next turn of the loop: SIGCHLD came. */
void	 reaper_reap_soon(struct reaper *r);

/* Kill orphans, in passes, until three in a row find none. */
void	 reaper_kill_orphans(struct reaper *r);

/* Whether the last passes found none. */
bool	 reaper_has_no_orphans(const struct reaper *r);
