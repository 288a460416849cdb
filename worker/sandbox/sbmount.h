/*
 * The mounts of a sandbox: a plan's rules made true in the mount namespace of
 * the calling process, which is all its own and in which it may mount.
 *
 * Everything is opened first and mounted by descriptor; what the plan
 * protects in a writable folder is looked up again where it will be, without
 * links, and has to be the same.  So a name that somebody swaps meanwhile
 * makes this fail, and never lead elsewhere.
 */
#ifndef WORKER_SANDBOX_SBMOUNT_H
#define WORKER_SANDBOX_SBMOUNT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/plan/plan.h"
#include "worker/fs/mounted_inodes.h"

#define MOUNTED_WHY	200	/* bytes of a reason */
#define MOUNTED_MADE	16384	/* bytes of paths */
#define MOUNTED_LOCKS	128	/* folders */
#define MOUNTED_FILES	1024	/* files that something is mounted on */

/*
 * What comes of it.
 *
 * Where a protected name does not exist there has to be something to mount
 * on: an empty folder, a stand-in, which is removed when the mounts are gone.
 * Several sandboxes may share one: each holds a shared lock on it (flock(2)),
 * and the one that can make its lock exclusive removes it.  One that a crash
 * left is taken over in the same way.
 */
struct mounted {
	char	 why[MOUNTED_WHY];	/* it failed */
	char	 made[MOUNTED_MADE];	/* those folders, each with its NUL */
	size_t	 made_len;
	int	 locks[MOUNTED_LOCKS];	/* their open, locked descriptors */
	size_t	 nlocks;
	struct mounted_inodes files[MOUNTED_FILES];
	size_t	 nfiles;
	bool	 more_files;	/* than fit */
};

/*
 * Make them.  hide: nothing of that folder is to be seen whatever the plan
 * says, NULL: there is none.  0, or -1 with the reason in out: then the
 * namespace is good for nothing.
 */
int	 sbmount_make(const struct plan *plan, const char *hide,
	    struct mounted *out) __attribute__((warn_unused_result));

/*
 * The first name of a path that does not exist, or where a link to nothing
 * leads; out has PATH_MAX bytes.  0, or -1 with errno.
 */
int	 sbmount_first_missing(const char *name, char *out)
	    __attribute__((warn_unused_result));

/* The links on the way to a name, itself one of them, in their order. */
struct sbmount_links {
	char		 path[PATH_MAX];	/* those behind us followed */
	size_t		 at;			/* how far we looked in it */
	unsigned	 n;
	char		 part[PATH_MAX];	/* the link, as it is named */
	char		 real[PATH_MAX];	/* and where it really is */
};

/* From the first. */
void	 sbmount_links_start(struct sbmount_links *l, const char *name);

/* 1: the next is in part and real; 0: there is none; -1 with errno. */
int	 sbmount_links_next(struct sbmount_links *l)
	    __attribute__((warn_unused_result));

#endif
