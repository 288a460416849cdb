/* The end of a session's processes: SIGKILL after the grace time, in passes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct pcgroups;

struct session_kill_events {
	void	(*reap)(void *arg);

	/* The client was sent the end of each process, or will not be. */
	bool	(*is_notified)(void *arg);

	/* None is left, or LIMIT_KILL has passed. */
	void	(*on_done)(void *arg);
};

struct session_kill {
	const struct session_kill_events *events;
	void		*arg;
	struct pcgroups	*cgroups;	/* borrowed; or NULL */
	struct timer	 ev;
	uint64_t	 deadline;	/* clock_ms(), end of grace time */
	unsigned	 passes;	/* without a process, in a row */
	unsigned	 orphans;	/* reaped since the last pass */
};

void	 session_kill_init(struct session_kill *k, struct event_base *base,
	    const struct session_kill_events *events, void *arg);
void	 session_kill_fini(struct session_kill *k);

/* They were signalled; grace: ms.  With none left, on_done comes first. */
void	 session_kill_start(struct session_kill *k, struct pcgroups *cgroups,
	    uint64_t grace);

/* Reaped: others may fork faster than a pass reads /proc. */
void	 session_kill_on_orphan(struct session_kill *k);

/* Of commands and descendants. */
size_t	 session_kill_count(void);
