/*
 * Kill all processes of a session at its end: SIGKILL after the grace time, in
 * passes, until several in a row find none.  Embedded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct pcgroups;

struct session_kill_events {
	void	(*reap)(void *arg);

	/*
	 * Whether the client was sent the end of each process, or will not be.
	 */
	bool	(*is_notified)(void *arg);

	/* No process is left, or LIMIT_KILL has passed. */
	void	(*on_done)(void *arg);
};

struct session_kill {
	const struct session_kill_events *events;
	void		*arg;
	struct pcgroups	*cgroups;	/* borrowed; or NULL */
	struct timer	 ev;
	uint64_t	 deadline;	/* clock_ms(), end of grace time */
	unsigned	 passes;	/* that found no process, in a row */
	unsigned	 orphans;	/* reaped since the last pass */
};

void	 session_kill_init(struct session_kill *k, struct event_base *base,
	    const struct session_kill_events *events, void *arg);
void	 session_kill_fini(struct session_kill *k);

/*
 * Start; the processes were signalled.  grace: ms for them to exit.  With none
 * left, on_done is called before this returns.
 */
void	 session_kill_start(struct session_kill *k, struct pcgroups *cgroups,
	    uint64_t grace);

/* An orphan was reaped: others may fork faster than a pass reads /proc. */
void	 session_kill_on_orphan(struct session_kill *k);

/* Return how many commands and descendants of them are alive. */
size_t	 session_kill_count(void);
