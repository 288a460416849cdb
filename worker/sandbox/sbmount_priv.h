/* Internal to worker/sandbox/sbmount*.c. */
#pragma once

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>

#define SBMOUNT_NODES	8	/* maximum, of /dev */
#define SBMOUNT_LINKS	40	/* followed, as the kernel does */

/* Of a stand-in. */
#define STAND_IN	(S_ISVTX | 0555)

/* A rule's, when it was looked up. */
struct place {
	const struct plan_rule	*rule;		/* of a pattern: its base */
	int			 fd;		/* O_PATH; -1: missing */
	int			 tree;		/* detached mount, or -1 */
	struct stat		 st;
	char			*real;		/* path without symlinks */
	char			*missing;	/* or where, by real path */
	char			*link;		/* target, if a symlink */
	bool			 gives;		/* plan_rule_gives() */
};

/* A tmpfs over a folder, and what is put into it. */
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

/* With errno's text; always -1. */
int	 sbmount_failed(struct sbmount *m, const char *what,
	    const char *path);

#define MASK_MODE_SHUT	0u	/* nothing in it is visible */
#define MASK_MODE_WAY	0555u	/* contains allowed paths */

/* Mount a mask over what fd (O_PATH) holds, at path. */
int	 sbmount_mask(struct sbmount *m, int fd, const char *path,
	    unsigned mode) MUST_CHECK;

/* A rule grants something below it. */
bool	 sbmount_allows_in(const struct plan *plan, const char *path);

/* Mount tree, which is taken, over what fd holds. */
int	 sbmount_put(struct sbmount *m, int tree, int fd, const char *path)
	    MUST_CHECK;

/* Mount an inaccessible file. */
int	 sbmount_void(struct sbmount *m, int fd, const char *path) MUST_CHECK;

/* O_PATH, no symlinks; -1 with errno. */
int	 sbmount_open(const char *path);

/* A mount (O_PATH fd); deep: with all below. */
int	 sbmount_read_only(int fd, bool deep);

/* Own /dev and /proc; nodes are copied before mounts change. */
int	 sbmount_copy_nodes(struct sbmount *m) MUST_CHECK;
int	 sbmount_system(struct sbmount *m) MUST_CHECK;

/* In /dev or /proc, of which a sandbox has its own. */
bool	 sbmount_is_system(const char *path);

/* O_PATH of what is to be hidden, as before.  -1 with the reason; or UNSEEN. */
#define SBMOUNT_UNSEEN	(-2)
int	 sbmount_find_again(struct sbmount *m, const struct place *p)
	    MUST_CHECK;

/* Match patterns; look up their bases before mounts change. */
int	 sbmount_look_at_pattern(struct sbmount *m, struct place *p) MUST_CHECK;
int	 sbmount_patterns(struct sbmount *m) MUST_CHECK;

/* Its parent is writable for commands, by real paths of rules. */
bool	 sbmount_is_in_writable(const struct sbmount *m, const char *real);

/* Whether it would be writable without a read-only rule. */
bool	 sbmount_is_writable(const struct sbmount *m, const char *real);

/* Resolve symlinks, not the last name's; out[PATH_MAX].  -1 with errno. */
int	 sbmount_resolve(const char *path, char *out) MUST_CHECK;

/* A symlink's target and rest, perhaps in path, to path.  -1 with errno. */
int	 sbmount_follow(const char *link, const char *rest, char *path)
	    MUST_CHECK;

/* Pin folders on the way to a real path: a command could replace them. */
int	 sbmount_pin_way(struct sbmount *m, const char *path) MUST_CHECK;

/* fd (O_PATH): its mode, and empty. */
bool	 sbmount_is_stand_in(int fd);

/* Make or take over one, recorded in m->out.  No symlinks. */
int	 sbmount_stand_in(struct sbmount *m, const char *path) MUST_CHECK;

/* Make a mount point in a mask. */
int	 sbmount_point(struct sbmount *m, const char *path, bool is_dir)
	    MUST_CHECK;
