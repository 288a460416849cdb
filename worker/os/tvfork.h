/*
 * vfork(2) with a timeout: a child runs a function in our memory, on a stack of
 * its own, until it executes a program.  If it is stopped by a signal or waits
 * for a file system, the worker goes on without it.
 *
 *	clone(CLONE_VM | CLONE_CHILD_CLEARTID)	without CLONE_VFORK
 *	FUTEX_WAIT with a timeout		until the kernel clears a word,
 *
 * which happens when the child's memory is no longer ours, by execve(2) or
 * exit, at the same place where the kernel would wake a vfork(2)ing parent.
 *
 * A late child counts as started.  It can be waited for, continued and killed;
 * if exec fails it writes that itself and exits with 127, as a shell does.
 *
 * Rules for code between clone and exec:
 *
 *   - use only struct tvfork and what is in the same allocation: all other
 *     memory may be freed meanwhile;
 *   - errno is shared with the worker: a call that can be made to fail must be
 *     a rawsys(), which does not set it (worker/os/rawsys.h).
 *
 * Under a root master no process of the user may signal the child until it has
 * the user's ids, which it takes last (tvfork_become_user()), or joins a user
 * namespace of the user.  Otherwise all of them may, and may stop the worker,
 * too.
 */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* How long to wait for a sleeping child, and for a runnable one. */
#define TVFORK_SLEEPS_MS	100
#define TVFORK_RUNS_MS	2000

/* Runs in the child; does not return. */
typedef int	 tvfork_fn(void *tvfork);

/* First member of what the child is given: zeroed memory of malloc(3). */
struct tvfork {
	TAILQ_ENTRY(tvfork) entry;	/* of late ones */
	uint32_t	 not_execed;	/* 1; 0: it has left our memory */
	uint32_t	 is_late;	/* nobody waits for it */
	bool		 is_double;	/* it exits, its sibling goes on */
	bool		 is_clean;	/* our signal handlers are reset */
	tvfork_fn	*fn;
	pid_t		 pid, inner;	/* of the child, of the second one */
	int		 error;		/* errno of its failure */
	char		*stacks;
	size_t		 size;		/* of the whole allocation, to wipe */
};

/* Wipe (it has environments) and free; NULL is fine. */
void	 tvfork_free(struct tvfork *b);

/*
 * Start a child that runs fn(b), in a control group (worker/os/pcgroup.h) or
 * with -1 in ours, all signals at their default.  Return its pid; b is no
 * longer the caller's.  Or -1 with errno, of clone or from the child: b is
 * still the caller's and no child is left.
 */
pid_t	 tvfork_give(struct tvfork *b, int group, tvfork_fn *fn) MUST_CHECK;

/*
 * --- in the child ---
 *
 * Start a sibling, which becomes the result of tvfork_give(), and exit.  For
 * b->is_double only.
 */
int	 tvfork_give_inner(struct tvfork *b, tvfork_fn *fn);

/*
 * Close all descriptors but 0, 1, 2 and two others (or -1).  exec would do so,
 * but a late child would keep our connections open.
 */
void	 tvfork_close(int one, int other);

/* Fail with an errno; a late child writes it to standard error. */
int	 tvfork_fail(struct tvfork *b, int error, const char *what);

/*
 * Set all uids to the user's, last before exec: the worker has the effective
 * one only (worker/os/privdrop.h), so other processes of the user cannot signal
 * the child before.  0, or the errno.
 */
int	 tvfork_become_user(void) MUST_CHECK;
