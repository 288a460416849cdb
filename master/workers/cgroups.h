/*
 * The control groups of workers, where we may make any, in a group of our own:
 *
 * 	version 2	GROUP/execsrv-PID/wN
 * 	version 1	GROUP/execsrv-PID/sN, for each controller
 *
 * Both versions limit a session as a whole, worker and commands: TasksMax,
 * MemoryMax, CPUWeight (proto/cgroup.def).  A controller that is not available
 * in version 2 is used in version 1, if that is writable.  A limit that no
 * group enforces falls back to resource limits of commands, if there is one.
 */
#pragma once

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "common/ipc/ipc.h"

enum {
#define CGROUP(controller, kind, setting, v1, v2, word, rlimit)		\
	CGROUP_##controller,
#include "proto/cgroup.def"
#undef CGROUP
	CGROUP_LIMITS
};

struct cgroups;

/* Groups by number; 0: none.  limit: settings of v2; 0: nothing. */
struct cgroups_worker {
	unsigned	 v2, v1;
	uint64_t	 limit[CGROUP_LIMITS];
};

/* Names of the groups of a master: version 2, and each controller of v1. */
struct cgroups_names {
	char		 name[1 + CGROUP_LIMITS][64];	/* "": none */
};

/*
 * None with ProcessCgroup no, or if it fails (a debug line in the log): the
 * calls below then do nothing.  former: names of those of a master that was
 * killed, which become ours; or NULL.  NULL: out of memory.
 */
struct cgroups	*cgroups_new(struct event_base *base, const struct conf *c,
		    const struct cgroups_names *former);

/* The names of our own groups, for the next master. */
void		 cgroups_names(const struct cgroups *g,
		    struct cgroups_names *out);

/*
 * Keep the groups of a worker of the former master: numbers that are not ours
 * become 0.  After all of them cgroups_sweep() kills what is in other groups
 * and returns the highest number of any: new ones are above it.
 */
void		 cgroups_keep(struct cgroups *g, struct cgroups_worker *w);
unsigned	 cgroups_sweep(struct cgroups *g);

/* Leave all groups, with what is in them, to the next master. */
void		 cgroups_leave(struct cgroups *g);

/* Remove all groups; waits shortly for killed processes to exit. */
void		 cgroups_free(struct cgroups **gp);

/* The absolute path of our own group of version 2, or "". */
const char	*cgroups_path(const struct cgroups *g);

/* Write what enforces the limits: "TasksMax by cgroup v1, ..." or "none". */
void		 cgroups_print(const struct cgroups *g, char *out, size_t size);

/* Log a line for each limit in a configuration that no group enforces. */
void		 cgroups_warn(const struct cgroups *g, const struct conf *c);

/* The limits that a worker sets for itself; list points into this struct. */
struct cgroups_limits {
	Ipc__CgroupLimit	 limit[CGROUP_LIMITS];
	Ipc__CgroupLimit	*list[CGROUP_LIMITS];
	char			 dir[CGROUP_LIMITS][4096 + 32];
	char			 value[CGROUP_LIMITS][24];
	size_t			 n;
	/* Instead of groups, as in Ipc__Settings. */
	uint64_t		 as_max, tasks_max;
};

/* Choose a group of version 2 for a new worker. */
void		 cgroups_take(struct cgroups *g, struct cgroups_worker *w);

/*
 * Fill in the limits for a client's settings.  id: of the worker, above 0 and
 * never reused; also of its groups of version 1, where they are needed.
 */
void		 cgroups_limit(struct cgroups *g, const struct conf *c,
		    unsigned id, struct cgroups_worker *w,
		    struct cgroups_limits *out);

/* Release the groups of a worker that has exited or was never started. */
void		 cgroups_give_back(struct cgroups *g,
		    struct cgroups_worker *w);
