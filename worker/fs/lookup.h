/* Look up paths without waiting for a file system that hangs (NFS, FUSE). */
#pragma once

#include <sys/stat.h>

#include <stdbool.h>

/*
 * Return an O_PATH descriptor and the status of an absolute path, or -1 with
 * errno.  EACCES for our own processes in /proc (ownproc.h); ELOOP for magic
 * links of /proc to files of other processes.
 *
 * nofollow: any symlink is ELOOP.  nofollow_last: do not follow a symlink at
 * the end.  nonblock: EAGAIN unless the caches or a local file system
 * (localfs.h) have the answer; the result is local.
 */
struct lookup {
	bool	 nonblock;
	bool	 nofollow;
	bool	 nofollow_last;
};
int	 lookup(const char *path, const struct lookup *how, struct statx *x)
	    MUST_CHECK;

/* The same for a name in a folder. */
int	 lookup_at(int dir, const char *name, const struct lookup *how,
	    struct statx *x) MUST_CHECK;

bool	 lookup_is_local(int fd);
