/* Resource usage of a session: worker, helpers, commands. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc/ipc.h"
#include "common/linux/usage.h"

struct pcgroups;

struct session_usage {
	struct usage	 used;		/* peak: of any single command */
	uint64_t	 worker_kib;	/* peak of the worker */
	bool		 has_oom;	/* oom is known */
	uint64_t	 oom;		/* processes killed */
};

/* living: with running processes, read from /proc. */
void	 session_usage_take(struct pcgroups *cgroups, const Ipc__Settings *set,
	    bool living, struct session_usage *out);
