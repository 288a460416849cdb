/*
 * The descendants of a process: those with its mark (common/linux/ptree.h);
 * those without in its session, process group or below such, which are
 * remembered, as parents die first.  One that left all of these before a pass
 * is found by its control group (worker/os/pcgroup.h) or, when the session
 * ends, as a descendant of the worker.
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

/* About other processes of the session. */
struct descendants_others {
	/* One has that mark. */
	bool	(*have_mark)(const void *arg, uint64_t mark);

	/* One that runs has that pid. */
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

void	 descendants_start(struct descendants *k, pid_t pid, uint64_t mark);

/* Before it is killed. */
void	 descendants_look(struct descendants *k);

/* A ptree_match_fn. */
bool	 descendants_has(pid_t pid, void *arg);

/* A ptree_match_fn for children that are other running processes. */
bool	 descendants_skips(pid_t pid, void *arg);
