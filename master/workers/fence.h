/*
 * What a session as a whole may use, worker, commands and all: TasksMax,
 * MemoryMax, CPUWeight.  Control groups of version 2, which we have for each
 * worker (master/workers/groups.h), or else of version 1, in
 *
 *	OUR OWN GROUP/execsrv-PID/sN
 *
 * for each controller that lets us, locked (cgfs_claim()), made again if it is
 * taken away.  The worker enters before it is the user, see
 * worker/os/scgroup.h; when it is gone its groups are removed here.  Where
 * there are none, resource limits of its commands stand in, if there are such.
 */
#ifndef MASTER_WORKERS_FENCE_H
#define MASTER_WORKERS_FENCE_H

#include "common/conf/conf.h"
#include "common/ipc/ipc.h"
#include "master/world.h"

enum {
#define FENCE(controller, setting, v1, v2, word, rlimit)		\
	FENCE_##controller,
#include "proto/fence.def"
#undef FENCE
	FENCES
};

struct fence;

/* After groups_new(): see what there is.  NULL: no memory. */
struct fence	*fence_new(struct master *m);

/* Remove what is ours. */
void		 fence_free(struct fence **fp);

/* What enforces which, for people: "TasksMax by cgroup v1, ..."; or "none". */
void		 fence_print(const struct fence *f, char *out, size_t size);

/* A line in the log for each limit of a configuration without a group. */
void		 fence_warn(const struct fence *f, const struct conf *c);

/* What a worker has to enter; it lives in this. */
struct fence_way {
	Ipc__Fence	 step[FENCES];
	Ipc__Fence	*list[FENCES];
	char		 dir[FENCES][4096 + 32];
	char		 value[FENCES][24];
	size_t		 n;
	bool		 has_v1;
};

/* That of a worker (a number above 0) for the settings of its client. */
void		 fence_way(struct fence *f, const struct conf *c,
		    unsigned number, struct fence_way *out);

/* What commands are bound by instead of groups: as in Ipc__Settings. */
void		 fence_stand_in(const struct fence *f, const struct conf *c,
		    uint64_t *as_max_out, uint64_t *tasks_max_out);

/* That worker is gone; only of those whose way had version 1. */
void		 fence_give_back(struct fence *f, unsigned number);

#endif
