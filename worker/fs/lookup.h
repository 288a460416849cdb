/* Look up paths without waiting for a file system (NFS, FUSE). */
#pragma once

#include <sys/stat.h>

#include <stdbool.h>

/*
 * O_PATH of an absolute path, or -1 with errno: EACCES for our own processes in
 * /proc (ownproc.h); ELOOP for magic links of /proc to others' files, with
 * nofollow for any symlink, with nofollow_last for one at the end.  nonblock:
 * EAGAIN unless the caches or a local file system (localfs.h) have the answer.
 */
struct lookup {
	bool	 nonblock;
	bool	 nofollow;
	bool	 nofollow_last;
};
int	 lookup(const char *path, const struct lookup *how, struct statx *x)
	    MUST_CHECK;

/* A name in a folder. */
int	 lookup_at(int dir, const char *name, const struct lookup *how,
	    struct statx *x) MUST_CHECK;

bool	 lookup_is_local(int fd);
