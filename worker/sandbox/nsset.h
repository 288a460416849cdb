/* What commands join: made in the holder, used between clone and exec. */
#pragma once

#include <stdbool.h>

/* In this order (setns(2)). */
enum nsset_ns {
	NSSET_USER, NSSET_NET, NSSET_IPC, NSSET_PID, NSSET_MNT,
	NSSET_NSES
};

enum nsset_fd {
	NSSET_RULESET = NSSET_NSES,	/* Landlock, for those that join */
	NSSET_PTS,			/* O_PATH of its /dev/pts */
	NSSET_FDS
};

struct nsset {
	int	 fds[NSSET_FDS];		/* -1: none */
	bool	 net_off;		/* enforce_seccomp() */
	bool	 no_changes;		/* enforce_no_changes() */
	bool	 is_managed;		/* enforce_seccomp_managed() */
};

void	 nsset_init(struct nsset *v);
void	 nsset_fini(struct nsset *v);
