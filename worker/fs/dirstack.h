/*
 * A path of open folders, for remove, copy and walk: any depth with at most
 * CHAIN_OPEN descriptors.  The topmost are closed and reopened by ".." on the
 * way back, if that is still the same folder.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/fs/fsop.h"

#define CHAIN_OPEN	32

/* The names in a folder without "." and "..". */
struct names {
	char	*base;		/* consecutive struct dirent64 */
	size_t	 len, cap;	/* bytes */
	size_t	 last, next;	/* offsets of the last name, the next name */
	bool	 has_more;	/* the folder did not fit */
};

void	 names_fini(struct names *ns);

/*
 * Read an open folder from its start, about max bytes (24 and the length of
 * each name), then has_more is set.  0, or -1 with errno (ECANCELED: nobody
 * waits).
 */
int	 names_read(struct names *ns, int fd, size_t max,
	    const struct fsop_how *how) MUST_CHECK;

/* Return the next name, or NULL.  Valid until names_read(). */
const struct dirent64	*names_next(struct names *ns);

const char	*names_last(const struct names *ns);

struct dirstack_dir {
	int		 fd;		/* -1: closed, see dev and ino */
	dev_t		 dev;
	ino_t		 ino;
	struct names	 names;		/* for the caller; freed by us */
	unsigned int	 rounds;	/* for the caller */
};

struct dirstack {
	struct dirstack_dir	*links;
	size_t			 n, cap;
	size_t			 closed;	/* number, from the top */
	int			 flags;		/* for reopening */
};

/* flags: O_RDONLY, or O_PATH for a folder that is not read. */
void	 dirstack_init(struct dirstack *c, int flags);
void	 dirstack_fini(struct dirstack *c);

/* Add a folder; takes over fd, also on failure.  0, or -1 with errno. */
int	 dirstack_push(struct dirstack *c, int fd) MUST_CHECK;

/* Return the lowest folder, borrowed until the next push or pop. */
struct dirstack_dir	*dirstack_last(const struct dirstack *c);

/*
 * Return the parent of the lowest folder, reopened if needed; there must be
 * one.  Borrowed.  -1 with errno, ESTALE if the lowest folder was moved.
 */
int	 dirstack_above(struct dirstack *c) MUST_CHECK;

/* Remove the lowest folder.  0, or -1 as dirstack_above(). */
int	 dirstack_pop(struct dirstack *c) MUST_CHECK;

/*
 * Open a folder below dir.  path: names only, shorter than PATH_MAX.  Follows
 * no symlink (ELOOP, or ENOTDIR for the last name), opens folders only
 * (ENOTDIR).  resolve, for openat2(2): RESOLVE_NO_XDEV (EXDEV: a mount),
 * RESOLVE_BENEATH (EXDEV: a folder was moved out of dir).
 */
int	 tree_open(int dir, const char *path, int flags, uint64_t resolve)
	    MUST_CHECK;

/* Return fd; or close it, EACCES, if it is of our own in /proc (ownproc.h). */
int	 tree_guard(int fd) MUST_CHECK;

/* fsop_look() of a path without following a symlink at its end. */
int	 tree_look(const char *path, bool nofollow,
	    const struct fsop_how *how, struct stat *st) MUST_CHECK;

/*
 * Copy the content of a regular file to an empty one, both at their start, up
 * to its size in st.  A file without a size (/proc) is copied to its end, at
 * most LIMIT_FILE_READ (EFBIG).  Keeps holes.  0, or -1 with errno.
 */
int	 content_copy(int in, int out, const struct stat *st,
	    const struct fsop_how *how) MUST_CHECK;

static inline bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}
