/*
 * Find the descendants of a process in /proc and kill them.  One that
 * daemonizes stays a descendant if an ancestor here is a subreaper (prctl(2),
 * PR_SET_CHILD_SUBREAPER).
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields of /proc/PID/stat (proc(5)). */
struct ptree_stat {
	bool		 is_alive;	/* also a zombie leader with threads */
	bool		 is_stopped;	/* by a signal */
	pid_t		 parent;
	pid_t		 group, session;
	unsigned	 threads;
	uint64_t	 start;		/* with the pid it identifies it */
};

/*
 * Now, as such a start.  A process that has the pid of one that we know to live
 * now, and was not started later, is that one.
 */
uint64_t	 ptree_now(void);

/* 0, or -1: there is no such process. */
int	 ptree_stat(pid_t pid, struct ptree_stat *out) MUST_CHECK;

/* Whether the process of a pidfd has not exited. */
bool	 ptree_is_alive(int pidfd);

/* Send a signal by pidfd, or to a child that is not reaped yet: pidfd -1. */
void	 ptree_signal(pid_t pid, int pidfd, int sig);

/* Whether a callback's process is meant. */
typedef bool	 ptree_match_fn(pid_t pid, void *arg);

/*
 * Signal every living descendant of the calling process that match accepts
 * (NULL: all); sig 0 only counts.  Children that skip accepts (NULL: none) are
 * left out with their descendants.  Return their number, 1 if /proc could not
 * be read (no descriptors, no memory).  This is one pass: it may miss what is
 * forked meanwhile, so repeat until two passes find none and no descendant was
 * reaped in between.
 */
size_t	 ptree_kill(int sig, ptree_match_fn *skip, ptree_match_fn *match,
	    void *arg);

/*
 * Whether a child of the calling process, alive or a zombie, is not accepted by
 * skip but by match; true if it cannot be found out.
 */
bool	 ptree_has_child(ptree_match_fn *skip, ptree_match_fn *match,
	    void *arg);

/*
 * Kill them in several passes, for up to ms milliseconds: a process that keeps
 * forking is missed by most.  is_suspect: orphans were reaped since the last
 * call, so something is alive.  reap() reaps all zombies between two passes, as
 * they make each pass longer.  Return whether any may be left; call again until
 * none is three times.
 */
bool	 ptree_purge(ptree_match_fn *skip, ptree_match_fn *match, void *arg,
	    bool is_suspect, uint64_t ms, void (*reap)(void *), void *reap_arg);

/*
 * Return a child that exited and is not reaped, so that its /proc entry can be
 * read before waitpid(2); 0: none; -1: call again.  A child that used
 * PTRACE_TRACEME has us as its tracer, and each signal stops it: it is detached
 * with that signal.
 */
pid_t	 ptree_peek(void) MUST_CHECK;

/* The same for one child, without a look at all of them. */
pid_t	 ptree_peek_one(pid_t pid) MUST_CHECK;

/*
 * The mark of a session's processes: a number as hard RLIMIT_LOCKS, which Linux
 * ignores since 2.4.  It is inherited over fork and exec, also by daemons, and
 * leaves the environment alone.
 *
 * Return a new mark within our own hard limit.
 */
uint64_t ptree_new_mark(void);

/*
 * A range of PTREE_MARKS marks, so that a process of them is known without a
 * list: the first one.  0: our own hard limit leaves no room for a range.
 */
#define PTREE_MARKS	((uint64_t)1 << 20)
uint64_t ptree_new_range(void);

/*
 * Kill all processes of the system with a mark of one of the n ranges, in one
 * pass.  Return how many there were, 1 if /proc could not be read.
 */
size_t	 ptree_kill_ranges(const uint64_t *first, size_t n);

/* Read a mark, also of a zombie; RLIM_INFINITY: none.  0, or -1: no access. */
int	 ptree_read_mark(pid_t pid, uint64_t *mark_out) MUST_CHECK;

/* The same, RLIM_INFINITY on failure. */
uint64_t ptree_mark_of(pid_t pid);

/* Whether a process has a mark other than our own. */
bool	 ptree_is_marked(pid_t pid);
