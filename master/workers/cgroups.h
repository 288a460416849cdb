/*
 * The control groups of workers (common/linux/cgfs.h), where we may have any.
 * All are in a group of our own below the one that we were started in:
 *
 *	version 2	GROUP/execsrv-PID/wN
 *	version 1	GROUP/execsrv-PID/sN, for each controller
 *
 * Version 2: the template starts each worker in a group, and the worker makes
 * one below it for each process (worker/os/pcgroup.h).  After the worker's end
 * the group is given to another worker if it is empty; else what is in it is
 * killed, and the group removed.
 *
 * Both versions limit what a session may use, worker, commands and all:
 * TasksMax, MemoryMax, CPUWeight (proto/cgroup.def).  A controller that version
 * 2 does not have for us is used by version 1, if it lets us.  The worker sets
 * its limits before it becomes the user (worker/os/scgroup.h); its groups of
 * version 1 are removed here after its end.  A limit that no group enforces is
 * left to resource limits of the commands, where there are such.
 *
 * The lock of our own group (cgfs_claim()) says that we live: the next execsrvd
 * in the same group removes what a dead one left.
 */
#ifndef MASTER_WORKERS_CGROUPS_H
#define MASTER_WORKERS_CGROUPS_H

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

/* The groups of one worker: numbers above 0; 0: none. */
struct cgroups_worker {
	unsigned	 v2, v1;
};

/*
 * See what there is, and make our own groups.  ProcessCgroup no, or none to be
 * had (a line in the log at debug level says why): everything works without.
 * NULL: no memory.
 */
struct cgroups	*cgroups_new(struct event_base *base, const struct conf *c);

/* Remove all groups; waits some milliseconds for what has just been killed. */
void		 cgroups_free(struct cgroups **gp);

/* The absolute path of our own group of version 2; "": there is none. */
const char	*cgroups_path(const struct cgroups *g);

/* What enforces which, for people: "TasksMax by cgroup v1, ..."; or "none". */
void		 cgroups_print(const struct cgroups *g, char *out, size_t size);

/* A line in the log for each limit of a configuration without a group. */
void		 cgroups_warn(const struct cgroups *g, const struct conf *c);

/* The limits that a worker sets for itself; the messages point into this. */
struct cgroups_limits {
	Ipc__CgroupLimit	 limit[CGROUP_LIMITS];
	Ipc__CgroupLimit	*list[CGROUP_LIMITS];
	char			 dir[CGROUP_LIMITS][4096 + 32];
	char			 value[CGROUP_LIMITS][24];
	size_t			 n;
	/* What bounds commands instead, as in Ipc__Settings. */
	uint64_t		 as_max, tasks_max;
};

/* A group of version 2 for a new worker. */
void		 cgroups_take(struct cgroups *g, struct cgroups_worker *w);

/*
 * The limits of a worker for the settings of its client.  id: of the worker,
 * above 0; no other worker ever has it.  The worker gets groups of version 1 of
 * that number, where they are needed.
 */
void		 cgroups_limit(struct cgroups *g, const struct conf *c,
		    unsigned id, struct cgroups_worker *w,
		    struct cgroups_limits *out);

/* The worker has ended, or never was: *w has no groups any more. */
void		 cgroups_give_back(struct cgroups *g,
		    struct cgroups_worker *w);

#endif
