/* Descendants of a process; of a subreaper (prctl(2)) also daemons. */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* /proc/PID/stat (proc(5)). */
struct ptree_stat {
	bool		 is_alive;	/* also a zombie leader with threads */
	bool		 is_stopped;	/* by a signal */
	pid_t		 parent;
	pid_t		 group, session;
	unsigned	 threads;
	uint64_t	 start;		/* identifies it, with pid */
};

/* Now, as start: a living pid that began no later is still that process. */
uint64_t	 ptree_now(void);

/* -1: no such process. */
int	 ptree_stat(pid_t pid, struct ptree_stat *out) MUST_CHECK;

/* The process has not exited. */
bool	 ptree_is_alive(int pidfd);

/* pidfd -1: a child that is not reaped yet. */
void	 ptree_signal(pid_t pid, int pidfd, int sig);

/* Whether a process is meant. */
typedef bool	 ptree_match_fn(pid_t pid, void *arg);

/*
 * Signal (0: only count) all living descendants that match (NULL: all), but not
 * children that skip accepts (NULL: none) and theirs.  Return their number, 1
 * if /proc could not be read.  One pass misses what forks: repeat until two
 * find none, without a descendant reaped in between.
 */
size_t	 ptree_kill(int sig, ptree_match_fn *skip, ptree_match_fn *match,
	    void *arg);

/* Whether a child, also a zombie, is not skipped and matches; true: unknown. */
bool	 ptree_has_child(ptree_match_fn *skip, ptree_match_fn *match,
	    void *arg);

/*
 * Kill them in passes, for up to ms.  is_suspect: orphans were reaped since the
 * last call, so something lives.  reap() reaps all zombies between passes.
 * Return whether any may be left; call until none is three times.
 */
bool	 ptree_purge(ptree_match_fn *skip, ptree_match_fn *match, void *arg,
	    bool is_suspect, uint64_t ms, void (*reap)(void *), void *reap_arg);

/*
 * Return a child that exited, to be examined before waitpid(2); 0: none; -1:
 * call again.  One that used PTRACE_TRACEME, which makes us its tracer, is
 * detached with the signal that stopped it.
 */
pid_t	 ptree_peek(void) MUST_CHECK;

/* The same for one child. */
pid_t	 ptree_peek_one(pid_t pid) MUST_CHECK;

/*
 * A session's mark: a number as hard RLIMIT_LOCKS, which Linux ignores since
 * 2.4; inherited over fork and exec, also by daemons.
 *
 * A new one, within our own hard limit.
 */
uint64_t ptree_new_mark(void);

/* The first of PTREE_MARKS marks.  0: our own hard limit leaves no room. */
#define PTREE_MARKS	((uint64_t)1 << 20)
uint64_t ptree_new_range(void);

/* Kill all in the system with such marks, once.  Return as ptree_kill(). */
size_t	 ptree_kill_ranges(const uint64_t *first, size_t n);

/* Also of a zombie; RLIM_INFINITY: none.  -1: no access. */
int	 ptree_read_mark(pid_t pid, uint64_t *mark_out) MUST_CHECK;

/* The same, RLIM_INFINITY on failure. */
uint64_t ptree_mark_of(pid_t pid);

/* With a mark other than our own. */
bool	 ptree_is_marked(pid_t pid);
