/* What a session has used: its worker, its commands, what serves it. */
#ifndef WORKER_SESSION_SESSION_USAGE_H
#define WORKER_SESSION_SESSION_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc/ipc.h"
#include "common/linux/usage.h"

struct pcgroups;

struct session_usage {
	struct usage	 used;		/* the peak: of any one command */
	uint64_t	 worker_kib;	/* the worker's */
	bool		 has_oom;	/* it is known: */
	uint64_t	 oom;		/* killed for want of memory */
};

/* As it is now; with the living (a look at each of them), or without. */
void	 session_usage_take(struct pcgroups *cgroups, const Ipc__Settings *set,
	    bool living, struct session_usage *out);

#endif
