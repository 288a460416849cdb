/* Internal to worker/fs/fs*.c. */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "worker/fs/fsop.h"

/*
 * 0, or -1 with errno, or with r->why and errno 0.  EAGAIN only if
 * how->nonblock and nothing was changed.
 */
typedef int	 fsop_fn(const struct fsop *op, const struct fsop_how *how,
		    struct fsop_result *r);

#define FSOP(name, fn)	fsop_fn fn;
#include "proto/fsop.def"
#undef FSOP

/* Set why and errno; always -1. */
int	 fsop_refuse(struct fsop_result *r, enum fsop_why why);

/* The same, with a text for the client that says more. */
int	 fsop_refusef(struct fsop_result *r, enum fsop_why why,
	    const char *fmt, ...) PRINTF(3, 4);

/* -1 with errno ECANCELED if a blocking operation was cancelled, else 0. */
int	 fsop_cancelled(const struct fsop_how *how);

/* Call how->reserve(), if any.  0, or -1 with errno. */
int	 fsop_reserve(const struct fsop_how *how, uint64_t bytes) MUST_CHECK;

/*
 * Open a path (O_PATH) and get its status, see lookup.h.  Nonblocking: EAGAIN
 * instead of waiting for a file system.
 */
int	 fsop_look(const char *path, bool nofollow,
	    const struct fsop_how *how, struct stat *st);

/* Open the parent folder of path and return its last name in name_out. */
int	 fsop_look_parent(const char *path, bool nofollow,
	    const struct fsop_how *how, const char **name_out);

/* Reopen an O_PATH descriptor for I/O; keeps fd.  -1 with errno. */
int	 fsop_reopen(int fd, int flags);

/* Whether freeing the file takes too long for a nonblocking operation. */
bool	 fsop_frees_much(const struct stat *st, const struct fsop_how *how);

/*
 * Replace an ordinary file (see fswrite.c) by a new one in one step.  fill()
 * writes the content of the new file.  st is the status of the old file, with
 * the permission bits that the new file gets.  *fd is the old file, open for
 * writing, so that nobody executes it; it is closed before the replacement.
 * 0; 1: the caller has to write in place; -1 with errno, and the old file is
 * unchanged.
 */
typedef int	 fsop_fill(int fd, const void *arg);
int	 fsop_replace(int *fd, const struct stat *st, fsop_fill *fill,
	    const void *arg, const struct fsop_how *how,
	    struct fsop_result *r);

/*
 * Read a regular file of at most max bytes (EFBIG).  0, or -1 with errno:
 * EISDIR if it is none, EAGAIN as fsop_look().
 */
int	 fsop_read_small(const char *path, size_t max,
	    const struct fsop_how *how, struct buf *out) MUST_CHECK;

/* Write all bytes.  0, or -1 with errno. */
int	 fsop_write_all(int fd, const void *data, size_t len, uint64_t offset);
