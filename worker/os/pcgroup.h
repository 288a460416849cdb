/*
 * A control group (common/linux/cgfs.h) for each process of a session, if
 * possible:
 *
 *	.../wN		of the worker, made by the template; its real uid owns
 *			the group
 *	.../wN/pN	of a process and its descendants; with TasksMax, it
 *			may be .../wN/t/pN (worker/os/scgroup.h)
 *
 * cgroup.kill then reaches every descendant at once.  Under a root master the
 * user has no access (worker/os/privdrop.h); else a process could leave.
 * Without groups descendants are found by mark and process tree
 * (worker/proc/descendants.h).  On x86-64 only, as clone3(2) with CLONE_VM
 * needs assembly.
 */
#pragma once

#include <sys/types.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

/* --- for the template --- */

/* -1: path is empty, or groups do not work. */
int		 pcgroup_open_top(const char *path);

/*
 * fork(2) a child of our parent (CLONE_PARENT; no atfork handlers) in wNUMBER
 * below top.  In the child *dir_out is the group, or -1: top -1, number 0, or
 * failed.  -1 with errno.
 */
pid_t		 pcgroup_fork(int top, uint32_t number, int *dir_out);

/* --- for the worker --- */

/* To our later real uid.  -1 with errno. */
int		 pcgroup_give_to(int dir, uid_t uid);

struct pcgroups;

/* Takes dir.  is_below: that with TasksMax (scgroup.h).  NULL: dir is -1. */
struct pcgroups	*pcgroups_new(struct event_base *base, int dir,
		    bool is_below);

/* Removes empty groups; the master removes others. */
void		 pcgroups_free(struct pcgroups **cp);

/*
 * Take an empty group: its number, above 0, and its descriptor, to be closed
 * after pcgroup_clone().  0 and -1: none; c may be NULL.
 */
unsigned	 pcgroups_take(struct pcgroups *c, int *dir_out);

/* Its process has ended; *number becomes 0.  What it left behind stays. */
void		 pcgroups_give_back(struct pcgroups *c, unsigned *number);

/* Processes of the session that were OOM killed.  -1: unknown. */
int		 pcgroups_oom(const struct pcgroups *c, uint64_t *n_out)
		    MUST_CHECK;

/* Kill all in a group (0: none), in all groups. */
void		 pcgroups_kill(struct pcgroups *c, unsigned number);
void		 pcgroups_kill_all(struct pcgroups *c);

/*
 * clone(2) with CLONE_VM: run fn(arg) on the stack of size bytes, in the group
 * at dir or, with -1 or if that fails, in ours; with our ids, but fsuid may be
 * the owner's of the group.  *clear (may be NULL) becomes 0, and a futex waiter
 * is woken, when the child leaves our memory (CLONE_CHILD_CLEARTID).  *clean,
 * set before fn: our signal handlers were reset.
 */
pid_t		 pcgroup_clone(int dir, int (*fn)(void *), void *stack,
		    size_t size, void *arg, uint32_t *clear, bool *clean);
