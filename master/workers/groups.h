/*
 * A control group for each worker (common/linux/cgfs.h), where we may have
 * them:
 *
 *	OUR OWN GROUP/execsrv-PID/wN
 *
 * The template starts each worker in its own; the worker makes one below it for
 * each process (worker/os/pcgroup.h).  When a worker is gone, its group is
 * given to another if nobody and nothing is in it; else what is left is killed,
 * and the group removed.  A lock on our directory says that we live: what a
 * dead execsrvd left is removed by the next in the same group.
 */
#ifndef MASTER_WORKERS_GROUPS_H
#define MASTER_WORKERS_GROUPS_H

#include "master/world.h"


struct groups;

/*
 * Our directory.  NULL: there can be none (a line in the log at debug level
 * says why), or ProcessCgroup is "no".
 */
struct groups	*groups_new(struct master *m);

/* Remove all of it; waits some milliseconds for what has just been killed. */
void		 groups_free(struct groups **gp);

/* Its absolute path; "" when g is NULL. */
const char	*groups_path(const struct groups *g);

/* Whether a controller is on for the groups of workers; g may be NULL. */
bool		 groups_has(const struct groups *g, const char *controller);

/* The number of a group for a new worker; 0 when g is NULL. */
unsigned	 groups_take(struct groups *g);

/* The worker that had it has ended, or never was.  number may be 0. */
void		 groups_give_back(struct groups *g, unsigned number);

#endif
