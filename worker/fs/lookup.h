/*
 * Find what a path names without waiting for a file system that may never
 * answer: a server that is away, a FUSE process that hangs.
 */
#ifndef WORKER_FS_LOOKUP_H
#define WORKER_FS_LOOKUP_H

#include <sys/stat.h>

#include <stdbool.h>

/*
 * An O_PATH descriptor of what the absolute path names and its status, or
 * -1 with errno.  nofollow: a link anywhere on the way is ELOOP.  nolast: a
 * link at the end is itself what is meant.
 *
 * quick: EAGAIN where that cannot be told from the kernel's caches or from a
 * local file system (mounts.h); what is found then is on a local one.  EACCES
 * for what /proc has of our own processes (ownproc.h).  Links of /proc to
 * other processes' files are not followed (ELOOP).
 */
struct lookup {
	bool	 quick;
	bool	 nofollow;
	bool	 nolast;
};
int	 lookup(const char *path, const struct lookup *how, struct statx *x)
	    __attribute__((warn_unused_result));

/* The same for one name in a folder. */
int	 lookup_at(int dir, const char *name, const struct lookup *how,
	    struct statx *x) __attribute__((warn_unused_result));

/* Whether an open file or folder is on a local file system. */
bool	 lookup_is_local(int fd);

#endif
