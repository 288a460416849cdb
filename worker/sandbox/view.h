/*
 * A view: what a holder gives to commands that join it.  Made in the holder's
 * process (worker/sandbox/enforce.h), used between clone and exec
 * (worker/proc/spawn.c).
 */
#ifndef WORKER_SANDBOX_VIEW_H
#define WORKER_SANDBOX_VIEW_H

#include <stdbool.h>

/* Namespaces in the order in which they are joined (setns(2)). */
enum view_ns {
	VIEW_USER, VIEW_NET, VIEW_IPC, VIEW_PID, VIEW_MNT,
	VIEW_NSES
};

enum view_fd {
	VIEW_RULESET = VIEW_NSES,	/* Landlock; restricts what joins */
	VIEW_PTS,			/* O_PATH: its own /dev/pts */
	VIEW_FDS
};

struct view {
	int	 fds[VIEW_FDS];		/* -1: none */
	bool	 net_off;		/* by seccomp(2), whatever else */
	bool	 no_changes;		/* the same: of modes, owners, times */
};

void	 view_init(struct view *v);
void	 view_fini(struct view *v);

#endif
