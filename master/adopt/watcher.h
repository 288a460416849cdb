/*
 * The watcher of an upgrade: a process that starts the former program again, in
 * its own place, if the new one ends, or is killed here because it does not
 * serve in time.
 */
#pragma once

#include <sys/types.h>

#include "master/adopt/handoff.h"

struct sdnotify;

struct watcher_task {
	const struct handoff_program *program;	/* of the former one */
	struct handoff_lines	*lines;		/* for it */
	struct sdnotify		*sdnotify;	/* NULL: none */
	int			 asker;		/* a descriptor, or -1 */
	const char		*version;	/* of the new program */
};

/*
 * Start it: its pid, and our end of the channel to it, for watcher_end().  -1
 * with errno.
 */
pid_t	 watcher_start(const struct watcher_task *t, int *sock_out) MUST_CHECK;

/* The new program serves, or was not executed: closes *sock. */
void	 watcher_end(int *sock);
