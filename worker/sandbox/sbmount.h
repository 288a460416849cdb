/*
 * Apply a plan in this process's own mount namespace.  All is opened first and
 * mounted by descriptor; protected paths in writable folders are then looked up
 * without symlinks and must be the same.  A name that is swapped makes this
 * fail, never lead elsewhere.
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
 * A protected name that does not exist needs a stand-in, an empty folder,
 * removed after the mounts.  Sandboxes may share one: each has a shared
 * flock(2) on it, and who can make that exclusive removes it, also after a
 * crash.
 */
struct mounted {
	char	 why[MOUNTED_WHY];	/* of a failure */
	char	 made[MOUNTED_MADE];	/* stand-ins, NUL after each */
	size_t	 made_len;
	int	 locks[MOUNTED_LOCKS];	/* locked */
	size_t	 nlocks;
	struct mounted_inodes files[MOUNTED_FILES];
	size_t	 nfiles;
	bool	 more_files;	/* files is incomplete */
};

/* hide: a folder to be invisible, or NULL.  -1: out->why, all is unusable. */
int	 sbmount_make(const struct plan *plan, const char *hide,
	    struct mounted *out) MUST_CHECK;

/* The first missing component, also of a dangling symlink; out[PATH_MAX]. */
int	 sbmount_first_missing(const char *name, char *out) MUST_CHECK;

/* Iterator over symlinks on the way to a name, and the name. */
struct sbmount_links {
	char		 path[PATH_MAX];	/* resolved up to at */
	size_t		 at;			/* progress in path */
	unsigned	 n;
	char		 part[PATH_MAX];	/* the symlink as named */
	char		 real[PATH_MAX];	/* its path without symlinks */
};

void	 sbmount_links_start(struct sbmount_links *l, const char *name);

/* 1: in part and real; 0: no more; -1 with errno. */
int	 sbmount_links_next(struct sbmount_links *l) MUST_CHECK;
