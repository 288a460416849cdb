/*
 * vfork(2) with a timeout: a child runs a function in our memory, on its own
 * stack, until it executes a program.  If it is stopped or waits for a file
 * system, the worker goes on.
 *
 *	clone(CLONE_VM | CLONE_CHILD_CLEARTID)	without CLONE_VFORK
 *	FUTEX_WAIT with a timeout		until the kernel clears a word,
 *
 * when the child leaves our memory by execve(2) or exit.  A late child counts
 * as started; if exec fails it writes that itself and exits with 127, as a
 * shell does.
 *
 * Rules between clone and exec:
 *
 *   - use only struct tvfork and what is in the same allocation: all other
 *     memory may be freed meanwhile;
 *   - errno is shared with the worker: a call that can be made to fail must be
 *     a rawsys(), which does not set it (worker/os/rawsys.h).
 *
 * Under a root master no process of the user may signal the child, and so stop
 * the worker, until it has the user's ids, which it takes last
 * (tvfork_become_user()), or joins a user namespace of the user.
 */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* For a sleeping child, a runnable one. */
#define TVFORK_SLEEPS_MS	100
#define TVFORK_RUNS_MS	2000

/* In the child; does not return. */
typedef int	 tvfork_fn(void *tvfork);

/* First member of the child's zeroed memory, of malloc(3). */
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

/* Wipes: it has environments. */
void	 tvfork_free(struct tvfork *b);

/*
 * Start a child that runs fn(b), in a control group (worker/os/pcgroup.h) or
 * with -1 in ours, signals at their default.  Return its pid, b taken; or -1
 * with errno, of clone or from the child, no child left.
 */
pid_t	 tvfork_give(struct tvfork *b, int group, tvfork_fn *fn) MUST_CHECK;

/*
 * --- in the child ---
 *
 * Start a sibling, the result of tvfork_give(), and exit.  Only with
 * b->is_double.
 */
int	 tvfork_give_inner(struct tvfork *b, tvfork_fn *fn);

/* All but 0, 1, 2 and these (or -1): a late child would keep sockets. */
void	 tvfork_close(int one, int other);

/* Late, it writes the errno to standard error. */
int	 tvfork_fail(struct tvfork *b, int error, const char *what);

/* All uids, last before exec: then it can be signalled.  0, or the errno. */
int	 tvfork_become_user(void) MUST_CHECK;
