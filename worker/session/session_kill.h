/*
 * Kills every process of a session at its end: SIGKILL after the grace time, in
 * passes, until three in a row find none.  Embedded.
 */
#ifndef WORKER_SESSION_SESSION_KILL_H
#define WORKER_SESSION_SESSION_KILL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"

struct pcgroups;

struct session_kill_events {
	/* Reap every child that ended. */
	void	(*reap)(void *arg);

	/* Whether the client knows the end of each process, or never will. */
	bool	(*is_told)(void *arg);

	/* No process is left, or LIMIT_KILL is over. */
	void	(*on_done)(void *arg);
};

struct session_kill {
	const struct session_kill_events *events;
	void		*arg;
	struct pcgroups	*cgroups;	/* borrowed; NULL: there are none */
	struct timer	 ev;
	uint64_t	 deadline;	/* clock_ms(), of the grace time */
	unsigned	 passes;	/* that found no process, in a row */
	unsigned	 orphans;	/* reaped since the last pass */
};

void	 session_kill_init(struct session_kill *k, struct event_base *base,
	    const struct session_kill_events *events, void *arg);
void	 session_kill_fini(struct session_kill *k);

/*
 * Begin; the processes were signalled.  grace: milliseconds for them to end.
 * With none left, on_done is called before this returns.
 */
void	 session_kill_start(struct session_kill *k, struct pcgroups *cgroups,
	    uint64_t grace);

/* An orphan was reaped: a sign of others that fork faster than a pass looks. */
void	 session_kill_on_orphan(struct session_kill *k);

#endif
