/* Starts the former program if the new one ends or does not serve in time. */
#pragma once

#include <sys/types.h>

#include "master/adopt/handoff.h"

struct sdnotify;

struct watcher_task {
	const struct handoff_program *program;
	struct handoff_lines	*lines;		/* for it */
	struct sdnotify		*sdnotify;
	int			 asker;		/* a descriptor, or -1 */
	const char		*version;
};

/* Its pid, and our end of its channel, for watcher_end(); -1 with errno. */
pid_t	 watcher_start(const struct watcher_task *t, int *sock_out) MUST_CHECK;

/* The new program serves, or was not executed: closes *sock. */
void	 watcher_end(int *sock);
