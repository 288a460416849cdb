/*
 * A control group for each process of a session, where the system lets us
 * (common/linux/cgfs.h, master/workers/cgroups.h):
 *
 *	.../wN		of the worker, made by the template; the worker lives
 *			there, its real uid owns it
 *	.../wN/pN	of a process and all its descendants
 *
 * cgroup.kill then reaches every descendant at once, whatever it has become.
 * Under a root master the user has no right to any of it
 * (worker/os/privdrop.h); else he is who we are, and a process of his could
 * move itself to another group, which no program does by accident.  Where there
 * are no groups everything works as well, by the mark and the process tree
 * (common/linux/ptree.h, worker/proc/descendants.h).
 *
 * What it costs: making and removing a group takes some 150 us, so they are
 * used again, and one is made in advance.  A child must be born in its group,
 * by clone3(2): whoever moves by a write to cgroup.procs waits for an RCU grace
 * period of the kernel, 5 to 15 ms.  clone3() has no wrapper in the C library
 * and wants some assembly, so there are groups on x86-64 only.
 */
#ifndef WORKER_OS_PCGROUP_H
#define WORKER_OS_PCGROUP_H

#include <sys/types.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

/* --- for the template --- */

/*
 * The master's directory of groups, or -1: path is empty, or nobody can be
 * started in it.
 */
int		 pcgroup_open_top(const char *path);

/*
 * As fork(2), for a child of our parent (CLONE_PARENT: no handler of a library
 * runs, there is none), in the group wNUMBER below top.  In the child *dir_out
 * is the group, or -1: it has none, because top is -1, number is 0 or the
 * system said no.  -1 with errno.
 */
pid_t		 pcgroup_fork(int top, uint32_t number, int *dir_out);

/* --- for the worker --- */

/*
 * Give the group at dir to the uid that will be our real one, while we may.
 * 0, or -1 with errno.
 */
int		 pcgroup_give_to(int dir, uid_t uid);

struct pcgroups;

/* The groups of a session, in dir (taken).  NULL when dir is -1. */
struct pcgroups	*pcgroups_new(struct event_base *base, int dir);

/* Remove the groups that are empty; the master sees to the others. */
void		 pcgroups_free(struct pcgroups **cp);

/*
 * Take a group that is empty: its number, above 0, and a descriptor of it, for
 * pcgroup_clone() and to be closed then.  0, with *dir_out -1: there is none; c
 * may be NULL.
 */
unsigned	 pcgroups_take(struct pcgroups *c, int *dir_out);

/*
 * Its process is over: *number becomes 0.  Whoever was left behind in it stays
 * there, until he ends or the session does.
 */
void		 pcgroups_give_back(struct pcgroups *c, unsigned *number);

/*
 * How many of this session's processes the kernel has killed for want of
 * memory: 0, or -1 when nobody counts that here.
 */
int		 pcgroups_oom(const struct pcgroups *c, uint64_t *n_out)
		    __attribute__((warn_unused_result));

/* Kill all that are in it (0: nobody), in all of them. */
void		 pcgroups_kill(struct pcgroups *c, unsigned number);
void		 pcgroups_kill_all(struct pcgroups *c);

/*
 * As clone(2) with CLONE_VM: fn(arg) on a stack of so many bytes at stack.  The
 * child is born in the group at dir, or, if that is -1 or cannot be, in ours.
 * It has still our ids, but fsuid may be that of who owns the group.  *clear
 * (or NULL) becomes 0 when our memory is no longer its own, and who waits for
 * that is woken (CLONE_CHILD_CLEARTID).  *clean, which is true or false before
 * fn is called: it has none of our signal handlers.
 */
pid_t		 pcgroup_clone(int dir, int (*fn)(void *), void *stack,
		    size_t size, void *arg, uint32_t *clear, bool *clean);

#endif
