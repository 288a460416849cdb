/*
 * What the settings allow the commands of a session: resource limits, umask,
 * priority.  RLIMIT_LOCKS is none of them: it is the mark (common/ptree.h).
 */
#ifndef WORKER_LIMITS_H
#define WORKER_LIMITS_H

#include <sys/resource.h>
#include <sys/types.h>

#include <stddef.h>

#include "common/ipc.h"

#define LIMITS_MAX	8

struct limits {
	struct {
		int		 resource;
		struct rlimit	 value;
	}		 rlimit[LIMITS_MAX];
	size_t		 n;
	mode_t		 umask;
	int		 priority;	/* of setpriority(2) */
};

/*
 * Those of a session, in the process whose children get them.  A hard limit is
 * never raised: where ours is lower that one holds.
 */
void	 limits_init(struct limits *l, const Ipc__Settings *set);

/* Between clone and exec: they are ours from here on. */
void	 limits_apply(const struct limits *l);

#endif
