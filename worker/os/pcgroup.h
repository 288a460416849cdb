/*
 * A control group (common/linux/cgfs.h) for each process of a session, if the
 * system lets us:
 *
 *	.../wN		of the worker, made by the template; its real uid owns
 *			the group
 *	.../wN/pN	of a process and its descendants; with TasksMax, it
 *			may be .../wN/t/pN (worker/os/scgroup.h)
 *
 * cgroup.kill then reaches every descendant at once.  Under a root master the
 * user has no access (worker/os/privdrop.h); else a process could move itself
 * to another group, though none does so by accident.  Without groups
 * descendants are found by their mark and the process tree
 * (common/linux/ptree.h, worker/proc/descendants.h).
 *
 * Making and removing a group is slow, so groups are reused and a spare one is
 * made in advance.  A child is born in its group by clone3(2), since a write to
 * cgroup.procs waits for an RCU grace period.  clone3(2) with CLONE_VM needs
 * assembly, so there are groups on x86-64 only.
 */
#pragma once

#include <sys/types.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

/* --- for the template --- */

/* Open the directory of groups; -1: path is empty, or groups do not work. */
int		 pcgroup_open_top(const char *path);

/*
 * fork(2) a child of our parent (CLONE_PARENT; no atfork handlers run) in the
 * group wNUMBER below top.  In the child *dir_out is the group, or -1: top is
 * -1, number is 0, or it failed.  -1 with errno.
 */
pid_t		 pcgroup_fork(int top, uint32_t number, int *dir_out);

/* --- for the worker --- */

/* Give a group to our later real uid.  0, or -1 with errno. */
int		 pcgroup_give_to(int dir, uid_t uid);

struct pcgroups;

/*
 * Takes over dir.  is_below: it is the one with TasksMax, below wN
 * (worker/os/scgroup.h).  NULL if dir is -1.
 */
struct pcgroups	*pcgroups_new(struct event_base *base, int dir,
		    bool is_below);

/* Remove the empty groups; the master removes the others. */
void		 pcgroups_free(struct pcgroups **cp);

/*
 * Take an empty group: return its number above 0 and its descriptor, to be
 * closed after pcgroup_clone().  0 and -1: none; c may be NULL.
 */
unsigned	 pcgroups_take(struct pcgroups *c, int *dir_out);

/*
 * Give a group back when its process has ended, and set *number to 0.
 * Processes that it left behind stay in the group.
 */
void		 pcgroups_give_back(struct pcgroups *c, unsigned *number);

/* Count the session's processes that were OOM killed.  0, or -1: unknown. */
int		 pcgroups_oom(const struct pcgroups *c, uint64_t *n_out)
		    MUST_CHECK;

/* Kill all processes in a group (0: none), or in all groups. */
void		 pcgroups_kill(struct pcgroups *c, unsigned number);
void		 pcgroups_kill_all(struct pcgroups *c);

/*
 * clone(2) with CLONE_VM: run fn(arg) on the stack of size bytes.  The child is
 * born in the group at dir or, if that is -1 or fails, in ours; it has our ids,
 * but fsuid may be the owner's of the group.  *clear (may be NULL) becomes 0,
 * and a futex waiter is woken, when the child leaves our memory
 * (CLONE_CHILD_CLEARTID).  *clean is set before fn runs: whether our signal
 * handlers were reset.
 */
pid_t		 pcgroup_clone(int dir, int (*fn)(void *), void *stack,
		    size_t size, void *arg, uint32_t *clear, bool *clean);
