/*
 * Mounts of a sandbox: apply a plan in the calling process's mount namespace,
 * which must be its own.
 *
 * All is opened first and mounted by descriptor; protected paths in writable
 * folders are looked up again where they will be, without symlinks, and must be
 * the same.  A name that is swapped meanwhile makes this fail, never lead
 * elsewhere.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/plan/plan.h"
#include "worker/fs/mounted_inodes.h"

#define MOUNTED_WHY	200	/* bytes of a reason */
#define MOUNTED_MADE	16384	/* bytes of paths */
#define MOUNTED_LOCKS	128	/* folders */
#define MOUNTED_FILES	1024	/* files mounted on */

/*
 * The result.
 *
 * A protected name that does not exist needs something to mount on: a stand-in,
 * an empty folder that is removed when the mounts are gone.  Sandboxes may
 * share one: each has a shared flock(2) on it, and the one that can make its
 * lock exclusive removes it.  One left by a crash is taken over in the same
 * way.
 */
struct mounted {
	char	 why[MOUNTED_WHY];	/* of a failure */
	char	 made[MOUNTED_MADE];	/* stand-ins, NUL after each */
	size_t	 made_len;
	int	 locks[MOUNTED_LOCKS];	/* their locked descriptors */
	size_t	 nlocks;
	struct mounted_inodes files[MOUNTED_FILES];
	size_t	 nfiles;
	bool	 more_files;	/* files is incomplete */
};

/*
 * Make them.  hide: a folder to be made invisible whatever the plan says, or
 * NULL.  0, or -1 with the reason in out: the namespace is unusable.
 */
int	 sbmount_make(const struct plan *plan, const char *hide,
	    struct mounted *out) MUST_CHECK;

/*
 * Get the first component of a path that does not exist, also behind a dangling
 * symlink; out has PATH_MAX bytes.  0, or -1 with errno.
 */
int	 sbmount_first_missing(const char *name, char *out) MUST_CHECK;

/* Iterator over the symlinks on the way to a name, including the name. */
struct sbmount_links {
	char		 path[PATH_MAX];	/* resolved up to at */
	size_t		 at;			/* progress in path */
	unsigned	 n;
	char		 part[PATH_MAX];	/* the symlink as named */
	char		 real[PATH_MAX];	/* its path without symlinks */
};

void	 sbmount_links_start(struct sbmount_links *l, const char *name);

/* 1: the next one is in part and real; 0: no more; -1 with errno. */
int	 sbmount_links_next(struct sbmount_links *l) MUST_CHECK;
