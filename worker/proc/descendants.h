/*
 * Find the descendants of a process.  They have its mark
 * (common/linux/ptree.h), unless one lowers its RLIMIT_LOCKS.  Such a process
 * still belongs if it is in the session or process group of the process or if
 * its parent belongs; it is remembered, since parents die first.  One that left
 * all of these before a pass is found by its control group
 * (worker/os/pcgroup.h) or, at the end of the session, as a descendant of the
 * worker.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descendants_one {
	pid_t		 pid;
	uint64_t	 start;		/* struct ptree_stat */
};

/* Questions about other processes of the session. */
struct descendants_others {
	/* Whether another process has a mark. */
	bool	(*have_mark)(const void *arg, uint64_t mark);

	/* Whether another running process has a pid. */
	bool	(*have_pid)(const void *arg, pid_t pid);
};

/* Embedded. */
struct descendants {
	const struct descendants_others	*others;
	const void		*arg;
	pid_t			 pid;
	uint64_t		 mark;
	struct descendants_one	*list;		/* without the mark */
	size_t			 n, cap;
};

void	 descendants_init(struct descendants *k,
	    const struct descendants_others *others, const void *arg);
void	 descendants_fini(struct descendants *k);

/* The process runs. */
void	 descendants_start(struct descendants *k, pid_t pid, uint64_t mark);

/* Find its descendants, before it is killed. */
void	 descendants_look(struct descendants *k);

/* Whether a process is a descendant: a ptree_match_fn. */
bool	 descendants_has(pid_t pid, void *arg);

/*
 * Whether a child of ours is another running process; its descendants are not
 * searched, since orphans are reparented to us, and reading a mark is slow
 * where the kernel does not let us.
 */
bool	 descendants_skips(pid_t pid, void *arg);
