/* Internal to worker/fs/fs*.c. */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "worker/fs/fsop.h"

/* 0, or -1 with errno, or r->why and errno 0.  EAGAIN: nothing was changed. */
typedef int	 fsop_fn(const struct fsop *op, const struct fsop_how *how,
		    struct fsop_result *r);

#define FSOP(name, fn)	fsop_fn fn;
#include "proto/fsop.def"
#undef FSOP

/* Always -1. */
int	 fsop_refuse(struct fsop_result *r, enum fsop_why why);

/* With a text for the client. */
int	 fsop_refusef(struct fsop_result *r, enum fsop_why why,
	    const char *fmt, ...) PRINTF(3, 4);

/* -1 with errno ECANCELED, if blocking. */
int	 fsop_cancelled(const struct fsop_how *how);

/* If any.  -1 with errno. */
int	 fsop_reserve(const struct fsop_how *how, uint64_t bytes) MUST_CHECK;

/* Open (O_PATH), see lookup.h.  EAGAIN: would wait for a file system. */
int	 fsop_look(const char *path, bool nofollow,
	    const struct fsop_how *how, struct stat *st);

/* The parent; name_out: the last name. */
int	 fsop_look_parent(const char *path, bool nofollow,
	    const struct fsop_how *how, const char **name_out);

/* An O_PATH one, for I/O; keeps fd.  -1 with errno. */
int	 fsop_reopen(int fd, int flags);

/* Whether it takes too long for a nonblocking operation. */
bool	 fsop_frees_much(const struct stat *st, const struct fsop_how *how);

/*
 * Replace an ordinary file (see fswrite.c) in one step by what fill() writes.
 * st: of the old file, with the new one's permission bits.  *fd: the old one,
 * open for writing, so that nobody executes it; closed before.  0; 1: write in
 * place; -1 with errno, the old file unchanged.
 */
typedef int	 fsop_fill(int fd, const void *arg);
int	 fsop_replace(int *fd, const struct stat *st, fsop_fill *fill,
	    const void *arg, const struct fsop_how *how,
	    struct fsop_result *r);

/* A regular file of at most max bytes (EFBIG).  -1: EISDIR if it is none. */
int	 fsop_read_small(const char *path, size_t max,
	    const struct fsop_how *how, struct buf *out) MUST_CHECK;

/* -1 with errno. */
int	 fsop_write_all(int fd, const void *data, size_t len, uint64_t offset);
