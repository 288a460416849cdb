/* A path of open folders, of any depth: from CHAIN_OPEN on reopened by "..". */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/fs/fsop.h"

#define CHAIN_OPEN	32

/* Without "." and "..". */
struct names {
	char	*base;		/* consecutive struct dirent64 */
	size_t	 len, cap;	/* bytes */
	size_t	 last, next;	/* offsets of the last name, the next name */
	bool	 has_more;	/* the folder did not fit */
};

void	 names_fini(struct names *ns);

/* About max bytes (24 and each name's), then has_more.  -1: or ECANCELED. */
int	 names_read(struct names *ns, int fd, size_t max,
	    const struct fsop_how *how) MUST_CHECK;

/* Or NULL.  Valid until names_read(). */
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

/* O_RDONLY, or O_PATH for folders that are not read. */
void	 dirstack_init(struct dirstack *c, int flags);
void	 dirstack_fini(struct dirstack *c);

/* Takes fd, also on failure.  0, or -1 with errno. */
int	 dirstack_push(struct dirstack *c, int fd) MUST_CHECK;

/* The lowest; valid until the next push or pop. */
struct dirstack_dir	*dirstack_last(const struct dirstack *c);

/* Its parent, borrowed.  -1 with errno; ESTALE: the lowest was moved. */
int	 dirstack_above(struct dirstack *c) MUST_CHECK;

/* 0, or -1 as dirstack_above(). */
int	 dirstack_pop(struct dirstack *c) MUST_CHECK;

/*
 * Open a folder below dir by names, shorter than PATH_MAX, through no symlink
 * (ELOOP, or ENOTDIR for the last name).  resolve, for openat2(2):
 * RESOLVE_NO_XDEV (EXDEV: a mount), RESOLVE_BENEATH (EXDEV: a folder was moved
 * out of dir).
 */
int	 tree_open(int dir, const char *path, int flags, uint64_t resolve)
	    MUST_CHECK;

/* Or close it, EACCES, if it is of our own in /proc (ownproc.h). */
int	 tree_guard(int fd) MUST_CHECK;

/* fsop_look(), not through a symlink at the end. */
int	 tree_look(const char *path, bool nofollow,
	    const struct fsop_how *how, struct stat *st) MUST_CHECK;

/*
 * Copy a regular file to an empty one, up to its size in st, with holes.
 * Without a size (/proc): to its end, at most LIMIT_FILE_READ (EFBIG).  0, or
 * -1 with errno.
 */
int	 content_copy(int in, int out, const struct stat *st,
	    const struct fsop_how *how) MUST_CHECK;

static inline bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}
