/*
 * Process trees: find the descendants of a process through /proc and kill
 * them.  A descendant that daemonizes stays one as long as an ancestor here
 * is a subreaper (prctl(2), PR_SET_CHILD_SUBREAPER).
 */
#ifndef COMMON_LINUX_PTREE_H
#define COMMON_LINUX_PTREE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What /proc/PID/stat says of a process (proc(5)). */
struct ptree_stat {
	bool		 is_alive;	/* also a zombie with other threads */
	pid_t		 parent;
	pid_t		 group, session;	/* the pid of who leads it */
	unsigned	 threads;
	uint64_t	 start;		/* with its pid, what it is known by */
};

/* 0, or -1 when it is gone. */
int	 ptree_stat(pid_t pid, struct ptree_stat *out)
	    __attribute__((warn_unused_result));

/* Whether a descendant is meant. */
typedef bool	 ptree_match_fn(pid_t pid, void *arg);

/*
 * Send a signal to every living descendant of the calling process that match
 * accepts (NULL: all); sig 0 only counts.  Children that skip accepts (NULL:
 * none) are left out with all of theirs.  Returns how many there were; 1
 * when that could not be found out (no descriptors, no memory).  One pass, in
 * which a parent comes before its children: what is forked meanwhile may be
 * missed, so repeat until two passes find none and nobody of them was reaped
 * in between.
 */
size_t	 ptree_kill(int sig, ptree_match_fn *skip, ptree_match_fn *match,
	    void *arg);

/*
 * Kill them, looking several times: somebody may fork faster than we look,
 * so that most looks find nobody.  is_suspect says that there are signs of
 * one: orphans of it that were reaped since the last time.  reap reaps all
 * children there are, between two looks: zombies would pile up and make each
 * look longer than the one before.  Takes ms milliseconds at most.  Whether
 * anybody may be left; call again until nobody is three times.
 */
bool	 ptree_purge(ptree_match_fn *skip, ptree_match_fn *match, void *arg,
	    bool is_suspect, uint64_t ms, void (*reap)(void *), void *reap_arg);

/*
 * A child that ended and is not reaped yet: its pid, so that what /proc says
 * of it can be looked at before waitpid(2); 0: none.  -1: look again.  A child
 * that has itself traced (PTRACE_TRACEME, ptrace(2)) is traced by us, and each
 * signal stops it and is reported as an end would be: it is let go, to do with
 * its signal what it would have done.
 */
pid_t	 ptree_peek(void) __attribute__((warn_unused_result));

/*
 * The mark: an rlimit that Linux does not use (RLIMIT_LOCKS, since 2.4) set
 * to a number.  It is inherited over fork and exec, whoever daemonizes keeps
 * it, and the environment stays as the client sent it.
 *
 * A new mark in the space that the process's own hard limit leaves.
 */
uint64_t ptree_new_mark(void);

/*
 * The mark of a process, also of a zombie; RLIM_INFINITY: it has none.  0, or
 * -1 when it is gone or cannot be looked at.
 */
int	 ptree_read_mark(pid_t pid, uint64_t *mark_out)
	    __attribute__((warn_unused_result));

/* The same; RLIM_INFINITY also of one that is gone. */
uint64_t ptree_mark_of(pid_t pid);

/* Whether it has one, and not the one that we were started with ourselves. */
bool	 ptree_is_marked(pid_t pid);

#endif
