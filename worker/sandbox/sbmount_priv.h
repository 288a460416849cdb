/* What the parts of sbmount share; for sbmount*.c only. */
#ifndef WORKER_SANDBOX_SBMOUNT_PRIV_H
#define WORKER_SANDBOX_SBMOUNT_PRIV_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>

#include "worker/sandbox/sbmount.h"

#define SBMOUNT_NODES	8	/* at most, of /dev */
#define SBMOUNT_LINKS	40	/* followed at most, as the kernel */

/* The mode of a stand-in, see struct mounted. */
#define STAND_IN	(S_ISVTX | 0555)

/* What a rule is about, as it was when it was looked at. */
struct place {
	const struct plan_rule	*rule;		/* a pattern: about its base */
	int			 fd;		/* O_PATH; -1: not there */
	int			 tree;		/* a copy to be mounted; -1 */
	struct stat		 st;
	char			*real;		/* its path without links */
	char			*missing;	/* or: of the first name of it
						   that does not exist */
	char			*link;		/* if it is one: where to */
	bool			 gives;		/* see plan_rule_gives() */
};

/* A folder of ours over one of theirs: nothing, but for what is put into it. */
struct mask {
	int	 fd;
	char	*path;
};

struct sbmount {
	const struct plan	*plan;
	const char		*hide;		/* a folder of ours, or NULL */
	struct place		*places;
	struct mask		*masks;
	size_t			 nmasks;
	int			 nodes[SBMOUNT_NODES];	/* copies; -1 */
	int			 null_tree_of;	/* O_PATH of /dev/null */
	int			 old_root;	/* to be unmounted, or -1 */
	struct mounted		*out;
};

/* Say why, with errno's text; -1 to return. */
int	 sbmount_failed(struct sbmount *m, const char *what,
	    const char *path);

#define MASK_MODE_SHUT	0u	/* nothing in it */
#define MASK_MODE_WAY	0555u	/* the way to what is in it */

/* An empty folder over what fd (O_PATH) holds, which path names. */
int	 sbmount_mask(struct sbmount *m, int fd, const char *path,
	    unsigned mode) __attribute__((warn_unused_result));

/* Whether a rule allows something in a folder. */
bool	 sbmount_allows_in(const struct plan *plan, const char *path);

/* A mount on top of what fd holds; takes tree. */
int	 sbmount_put(struct sbmount *m, int tree, int fd, const char *path)
	    __attribute__((warn_unused_result));

/* What a file is that nobody can open, over what fd holds. */
int	 sbmount_void(struct sbmount *m, int fd, const char *path)
	    __attribute__((warn_unused_result));

/* No link on the way; -1 with errno. */
int	 sbmount_open(const char *path);

/* Of one mount, or of all below too; fd of it (O_PATH). */
int	 sbmount_read_only(int fd, bool deep);

/*
 * Own /dev and /proc; copies of the devices are taken before anything changes.
 */
int	 sbmount_copy_nodes(struct sbmount *m)
	    __attribute__((warn_unused_result));
int	 sbmount_system(struct sbmount *m)
	    __attribute__((warn_unused_result));

/* Of these a sandbox has its own, and rules are about what is in those. */
bool	 sbmount_is_system(const char *path);

/*
 * Where what is to be hidden is now, which has to be what it was (O_PATH).  -1
 * having said why, or SBMOUNT_UNSEEN: nothing of it is seen.
 */
#define SBMOUNT_UNSEEN	(-2)
int	 sbmount_find_again(struct sbmount *m, const struct place *p)
	    __attribute__((warn_unused_result));

/*
 * What the patterns of the plan match now.  Before anything changes: where they
 * are about, by whatever links.
 */
int	 sbmount_look_at_pattern(struct sbmount *m, struct place *p)
	    __attribute__((warn_unused_result));
int	 sbmount_patterns(struct sbmount *m)
	    __attribute__((warn_unused_result));

/*
 * Whether a command may change the folder that a path is in: decided by where
 * that and the rules' places really are, whatever the names in the plan.
 * real: the path has no links.
 */
bool	 sbmount_is_in_writable(const struct sbmount *m, const char *real);

/*
 * Whether a command could change what is at that real path if no rule made it
 * read-only.
 */
bool	 sbmount_is_writable(const struct sbmount *m, const char *real);

/*
 * The same path without links, but for its last name: out has PATH_MAX bytes.
 * 0, or -1 with errno.
 */
int	 sbmount_resolve(const char *path, char *out)
	    __attribute__((warn_unused_result));

/*
 * What a link on a path leads to, with the rest of that, to path (PATH_MAX
 * bytes; rest may be in it).  0, or -1 with errno.
 */
int	 sbmount_follow(const char *link, const char *rest, char *path)
	    __attribute__((warn_unused_result));

/*
 * The folders on the way to a path without links, as far as a command could
 * rename them, stay where they are: else it could make another path of that
 * name.
 */
int	 sbmount_pin_way(struct sbmount *m, const char *path)
	    __attribute__((warn_unused_result));

/*
 * Whether fd (O_PATH will do) is a folder that stands in for nothing.  Anybody
 * may give a folder that mode: what is in one makes it a real one.
 */
bool	 sbmount_is_stand_in(int fd);

/*
 * Make it, or take over the one that is there; m->out knows it then.  No link
 * on the way is followed.
 */
int	 sbmount_stand_in(struct sbmount *m, const char *path)
	    __attribute__((warn_unused_result));

/* A folder or file in a mask to mount on. */
int	 sbmount_point(struct sbmount *m, const char *path, bool is_dir)
	    __attribute__((warn_unused_result));

#endif
