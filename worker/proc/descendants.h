/*
 * Who belongs to a process.  Its descendants have its mark
 * (common/linux/ptree.h), but whoever lowers his RLIMIT_LOCKS loses it.  Such a
 * one still belongs to it when he is in the session or the process group that
 * it leads, or when his parent belongs to it; and he is remembered, because
 * parents die first.  Who has done all that away before anybody looked is found
 * by his control group (worker/os/pcgroup.h) or, at the end of the session,
 * because he is a descendant of the worker.
 */
#ifndef WORKER_PROC_DESCENDANTS_H
#define WORKER_PROC_DESCENDANTS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descendants_one {
	pid_t		 pid;
	uint64_t	 start;		/* as in struct ptree_stat */
};

/* What is asked about the others of the session; arg: whose kin it is. */
struct descendants_others {
	/* Whether another process has that mark. */
	bool	(*have_mark)(const void *arg, uint64_t mark);

	/* Whether another one that runs is that child of ours. */
	bool	(*have_pid)(const void *arg, pid_t pid);
};

/* Embedded. */
struct descendants {
	const struct descendants_others	*others;
	const void		*arg;
	pid_t			 pid;		/* of the process */
	uint64_t		 mark;		/* of it */
	struct descendants_one	*list;		/* those without the mark */
	size_t			 n, cap;
};

void	 descendants_init(struct descendants *k,
	    const struct descendants_others *others, const void *arg);
void	 descendants_fini(struct descendants *k);

/* It runs now. */
void	 descendants_born(struct descendants *k, pid_t pid, uint64_t mark);

/* Look who belongs to it now, before it is killed. */
void	 descendants_look(struct descendants *k);

/* Whether a descendant of ours belongs to it; arg: a ptree_match_fn. */
bool	 descendants_has(pid_t pid, void *arg);

/*
 * Whether a child of ours is another process that runs: then all below it are
 * that one's, since what is orphaned comes to us.  A look leaves these out: to
 * read a mark costs some ten microseconds where the kernel hides it from us.
 */
bool	 descendants_skips(pid_t pid, void *arg);

#endif
