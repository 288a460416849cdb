/* What the files fs*.c of the file operations share. */
#ifndef WORKER_FS_FSOP_PRIV_H
#define WORKER_FS_FSOP_PRIV_H

#include <sys/stat.h>
#include <sys/types.h>

#include "worker/fs/fsop.h"

/*
 * One operation: 0, or -1 with errno, or with r->why and errno 0.  EAGAIN only
 * when how->bounded, and only before anything was changed.
 */
typedef int	 fsop_fn(const struct fsop *op, const struct fsop_how *how,
		    struct fsop_result *r);

#define FSOP(name, fn)	fsop_fn fn;
#include "proto/fsop.def"
#undef FSOP

/* For "return refuse(r, FSWHY_...)": sets why and errno, returns -1. */
int	 fsop_refuse(struct fsop_result *r, enum fsop_why why);

/* errno ECANCELED and -1 when nobody waits for an unbounded one any more. */
int	 fsop_cancelled(const struct fsop_how *how);

/* how->hold(), if there is one.  0, or -1 with errno. */
int	 fsop_hold(const struct fsop_how *how, uint64_t bytes)
	    __attribute__((warn_unused_result));

/*
 * Descriptor (O_PATH) and status of what path names.  Bounded ones do not
 * wait for a file system: EAGAIN when that cannot be told.  See lookup.h.
 */
int	 fsop_look(const char *path, bool nofollow,
	    const struct fsop_how *how, struct stat *st);

/* The folder that holds the last name of path, and that name in it. */
int	 fsop_look_parent(const char *path, bool nofollow,
	    const struct fsop_how *how, const char **name_out);

/* Open what an O_PATH descriptor holds, really; keeps fd.  -1 with errno. */
int	 fsop_reopen(int fd, int flags);

/* Whether a bounded one may not empty or replace it: that takes too long. */
bool	 fsop_frees_much(const struct stat *st, const struct fsop_how *how);

/* Write all of it.  0, or -1 with errno. */
int	 fsop_write_all(int fd, const void *data, size_t len, uint64_t offset);

#endif
