/* Internal to worker/sandbox/sbmount*.c. */
#pragma once

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>

#include "worker/sandbox/sbmount.h"

#define SBMOUNT_NODES	8	/* maximum, of /dev */
#define SBMOUNT_LINKS	40	/* followed, as the kernel does */

/* The mode of a stand-in, see struct mounted. */
#define STAND_IN	(S_ISVTX | 0555)

/* The place of a rule when it was looked up. */
struct place {
	const struct plan_rule	*rule;		/* of a pattern: its base */
	int			 fd;		/* O_PATH; -1: missing */
	int			 tree;		/* detached mount, or -1 */
	struct stat		 st;
	char			*real;		/* path without symlinks */
	char			*missing;	/* or real path of its first
						   missing component */
	char			*link;		/* target, if a symlink */
	bool			 gives;		/* plan_rule_gives() */
};

/* A tmpfs mounted over a folder, with what is put into it. */
struct mask {
	int	 fd;
	char	*path;
};

struct sbmount {
	const struct plan	*plan;
	const char		*hide;		/* our folder, or NULL */
	struct place		*places;
	struct mask		*masks;
	size_t			 nmasks;
	int			 nodes[SBMOUNT_NODES];	/* detached, or -1 */
	int			 null_tree_of;	/* O_PATH of /dev/null */
	int			 old_root;	/* to be unmounted, or -1 */
	struct mounted		*out;
};

/* Set the reason, with errno's text; always -1. */
int	 sbmount_failed(struct sbmount *m, const char *what,
	    const char *path);

#define MASK_MODE_SHUT	0u	/* nothing in it is visible */
#define MASK_MODE_WAY	0555u	/* contains allowed paths */

/* Mount a mask over what fd (O_PATH) holds, at path. */
int	 sbmount_mask(struct sbmount *m, int fd, const char *path,
	    unsigned mode) MUST_CHECK;

/* Whether a rule grants something below a folder. */
bool	 sbmount_allows_in(const struct plan *plan, const char *path);

/* Mount tree over what fd holds; takes over tree. */
int	 sbmount_put(struct sbmount *m, int tree, int fd, const char *path)
	    MUST_CHECK;

/* Mount an inaccessible file over what fd holds. */
int	 sbmount_void(struct sbmount *m, int fd, const char *path) MUST_CHECK;

/* Open (O_PATH) without following symlinks; -1 with errno. */
int	 sbmount_open(const char *path);

/* Make a mount (O_PATH fd), or all below it, too, read-only. */
int	 sbmount_read_only(int fd, bool deep);

/* Own /dev and /proc; copy device nodes before mounts change. */
int	 sbmount_copy_nodes(struct sbmount *m) MUST_CHECK;
int	 sbmount_system(struct sbmount *m) MUST_CHECK;

/* Whether a path is in /dev or /proc, of which a sandbox has its own. */
bool	 sbmount_is_system(const char *path);

/*
 * Open (O_PATH) what is to be hidden again; it must be the same.  -1 with the
 * reason, or SBMOUNT_UNSEEN: not visible at all.
 */
#define SBMOUNT_UNSEEN	(-2)
int	 sbmount_find_again(struct sbmount *m, const struct place *p)
	    MUST_CHECK;

/* Match the patterns; look up their bases before mounts change. */
int	 sbmount_look_at_pattern(struct sbmount *m, struct place *p) MUST_CHECK;
int	 sbmount_patterns(struct sbmount *m) MUST_CHECK;

/*
 * Whether a command may write to the parent folder of a path: decided by real
 * paths of the rules.  real has no symlinks.
 */
bool	 sbmount_is_in_writable(const struct sbmount *m, const char *real);

/* Whether a command could write to a real path without a read-only rule. */
bool	 sbmount_is_writable(const struct sbmount *m, const char *real);

/*
 * Resolve all symlinks but the last name; out has PATH_MAX bytes.  0, or -1
 * with errno.
 */
int	 sbmount_resolve(const char *path, char *out) MUST_CHECK;

/*
 * Put the target of a symlink and the rest of a path into path[PATH_MAX]; rest
 * may be in path.  0, or -1 with errno.
 */
int	 sbmount_follow(const char *link, const char *rest, char *path)
	    MUST_CHECK;

/*
 * Pin the folders on the way to a real path that a command could rename: it
 * could replace them by others.
 */
int	 sbmount_pin_way(struct sbmount *m, const char *path) MUST_CHECK;

/* Whether fd (O_PATH) is a stand-in: its mode, and empty. */
bool	 sbmount_is_stand_in(int fd);

/* Make or take over a stand-in, recorded in m->out.  Follows no symlink. */
int	 sbmount_stand_in(struct sbmount *m, const char *path) MUST_CHECK;

/* Make a mount point in a mask. */
int	 sbmount_point(struct sbmount *m, const char *path, bool is_dir)
	    MUST_CHECK;
