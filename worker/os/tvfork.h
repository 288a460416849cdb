/*
 * Birth: a child that runs a function in our memory, on a stack of its own,
 * until it executes a program.  vfork(2) with an end to its patience: the
 * worker goes on when the child does not get there, as it was stopped by
 * somebody who may signal it, or waits for a file system.
 *
 *	clone(CLONE_VM | CLONE_CHILD_CLEARTID)	and no CLONE_VFORK
 *	FUTEX_WAIT with a time limit		until the kernel clears a word
 *
 * The kernel does so where it would wake a vfork()ed parent, when the child's
 * memory is no longer ours: in execve(2), or at its end.  It costs nothing
 * that vfork() does not cost, no descriptor and no more switches.
 *
 * A child that is late counts as started.  It stays what it is, a child with a
 * number that can be waited for, continued and killed; if its program cannot be
 * executed it says so itself, and ends with 127 as that of a shell would.
 *
 * So two rules for what runs between clone and exec:
 *
 *   - it uses nothing but what it was given, struct tvfork and what is in the
 *     same piece of memory: whatever else there was may be gone;
 *   - errno is ours, and a late child runs beside us: what can be made to fail
 *     in it must be a rawcall(), which leaves errno alone
 *     (worker/os/rawsys.h).
 *
 * Who may signal it: under a root master nobody of the user, until the child
 * is the user, which it becomes last (tvfork_become_user()), or joins a user
 * namespace, whose owner he is.  Otherwise everybody of the user, who may also
 * stop the worker.
 */
#ifndef WORKER_OS_TVFORK_H
#define WORKER_OS_TVFORK_H

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* How long the worker waits for one that sleeps, and for one that would run. */
#define TVFORK_SLEEPS_MS	100
#define TVFORK_RUNS_MS	2000

/* What runs in the child; does not return. */
typedef int	 tvfork_fn(void *tvfork);

/*
 * What a child is given begins with this; the memory is from malloc(3), and
 * zero as far as this goes.
 */
struct tvfork {
	TAILQ_ENTRY(tvfork) entry;	/* of those that are late */
	uint32_t	 unborn;	/* 1; 0: its memory is its own */
	uint32_t	 is_late;	/* nobody waits for it any more */
	bool		 twice;		/* it ends, and its child goes on */
	bool		 is_clean;	/* it has no signal handlers */
	tvfork_fn	*fn;
	pid_t		 pid, inner;	/* its own; that child's */
	int		 error;		/* errno, when it failed */
	char		*stacks;
	size_t		 size;		/* of all that memory, for the end */
};

/* Wipe and free it, as environments are in it.  NULL is fine. */
void	 tvfork_free(struct tvfork *b);

/*
 * A child that runs fn(b), born in a control group (worker/os/pcgroup.h) or,
 * with -1, in ours, with all signals at their default.  Its number, and b is no
 * longer the caller's.  Or -1 with errno, of fork or as the child told it:
 * then b is still the caller's, and no child is left.
 */
pid_t	 tvfork_give(struct tvfork *b, int group, tvfork_fn *fn)
	    __attribute__((warn_unused_result));

/*
 * --- in the child ---
 *
 * The same from a child with b->twice: a sibling of it, which is what
 * tvfork_give() waits for and returns.  The child ends then.
 */
int	 tvfork_give_inner(struct tvfork *b, tvfork_fn *fn);

/*
 * Close all descriptors but the standard streams and two more, or -1.  They
 * would go at the exec, but with a late one our connections stayed open.
 */
void	 tvfork_close(int one, int other);

/* It is over: why, and what failed, which a late one says by itself. */
int	 tvfork_fail(struct tvfork *b, int error, const char *what);

/*
 * Be the user in every respect, as the last thing before the exec: of a user's
 * worker only the effective uid is the user's (worker/os/privdrop.h), so up to
 * here no other process of the user can signal the child.  0, or the errno.
 */
int	 tvfork_become_user(void) __attribute__((warn_unused_result));

#endif
