/*
 * Trees of folders by descriptors: what remove, copy and walk share.
 *
 * It holds a folder, one below it, one below that, however deep, with
 * no more than CHAIN_OPEN descriptors: those at the top are closed and found
 * again by ".." on the way back, if it leads to the same folder.
 */
#ifndef WORKER_FS_DIRSTACK_H
#define WORKER_FS_DIRSTACK_H

#include <sys/stat.h>
#include <sys/types.h>

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/fs/fsop.h"

#define CHAIN_OPEN	32

/* The names that a folder had when it was read, "." and ".." left out. */
struct names {
	char	*base;		/* struct dirent64, one behind the other */
	size_t	 len, cap;	/* bytes */
	size_t	 last, next;	/* offsets of what names_next() gave, gives */
	bool	 has_more;	/* the folder did not fit */
};

void	 names_fini(struct names *ns);

/*
 * Read an open folder from its beginning.  At most about max bytes, 24 and the
 * length for each name; then has_more is set.  0, or -1 with errno, which
 * is ECANCELED when nobody waits any more.
 */
int	 names_read(struct names *ns, int fd, size_t max,
	    const struct fsop_how *how) __attribute__((warn_unused_result));

/* The next one, NULL after the last.  Valid until names_read(). */
const struct dirent64	*names_next(struct names *ns);

/* The name that it gave last. */
const char	*names_last(const struct names *ns);

struct dirstack_dir {
	int		 fd;		/* -1: closed, see dev and ino */
	dev_t		 dev;
	ino_t		 ino;
	struct names	 names;		/* the caller's use; ended by us */
	unsigned int	 rounds;	/* the caller's use */
};

struct dirstack {
	struct dirstack_dir	*links;
	size_t			 n, cap;
	size_t			 closed;	/* so many, from the top */
	int			 flags;		/* for open(2), when reopened */
};

/* Empty.  flags: O_RDONLY, or O_PATH for one that is never read. */
void	 dirstack_init(struct dirstack *c, int flags);
void	 dirstack_fini(struct dirstack *c);

/* Add a folder; takes fd, also when it fails.  0, or -1 with errno. */
int	 dirstack_push(struct dirstack *c, int fd)
	    __attribute__((warn_unused_result));

/* The lowest one; borrowed until the next push or pop. */
struct dirstack_dir	*dirstack_last(const struct dirstack *c);

/*
 * The one above the lowest, open again (there is one).  Borrowed.  -1 with
 * errno, ESTALE when the lowest was moved elsewhere.
 */
int	 dirstack_above(struct dirstack *c) __attribute__((warn_unused_result));

/* Forget the lowest.  0, or -1 as dirstack_above() has it. */
int	 dirstack_pop(struct dirstack *c) __attribute__((warn_unused_result));

/*
 * Open a folder below dir, for reading or as flags say.  path is made of names
 * alone and shorter than PATH_MAX.  No link is followed (ELOOP on the way,
 * ENOTDIR at its end) and nothing but a folder opened (ENOTDIR).  resolve is
 * added to what openat2(2) forbids: RESOLVE_NO_XDEV, so that EXDEV is a
 * mount; RESOLVE_BENEATH, so that a folder moved out of dir meanwhile is
 * EXDEV.
 */
int	 tree_open(int dir, const char *path, int flags, uint64_t resolve)
	    __attribute__((warn_unused_result));

/*
 * fd, or -1 with EACCES, and fd closed, where it is of /proc and of our own
 * processes (ownproc.h).  -1 is fine.
 */
int	 tree_guard(int fd) __attribute__((warn_unused_result));

/*
 * What the path names, a link at its end not followed: O_PATH and its
 * status, as fsop_look() has it.
 */
int	 tree_look(const char *path, bool nofollow,
	    const struct fsop_how *how, struct stat *st)
	    __attribute__((warn_unused_result));

/*
 * Copy the content of in, a regular file of that status, to out, which is
 * regular and empty; both are at their beginning.  As much as there was at
 * the time of st; what is added meanwhile may be missing.  A file that does
 * not tell its size (/proc) is copied to its end, EFBIG past
 * LIMIT_FILE_READ.  Holes stay holes.  0, or -1 with errno.
 */
int	 content_copy(int in, int out, const struct stat *st,
	    const struct fsop_how *how) __attribute__((warn_unused_result));

/* Whether they are the same file or folder. */
static inline bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#endif
