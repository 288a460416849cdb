/* /dev and /proc of a sandbox, and matches of patterns. */
#include "worker/sandbox/sbmount.h"
#include "worker/sandbox/sbmount_priv.h"

#include <sys/mount.h>
#include <sys/statfs.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/plan/pathglob.h"

#define PLAIN	(MS_NOSUID | MS_NOEXEC)

static const char *const nodes[] = {
	"null", "zero", "full", "random", "urandom", "tty", NULL
};

static const struct {
	const char	*name, *to;
} links[] = {
	{ "fd", "/proc/self/fd" }, { "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" },
	{ "ptmx", "pts/ptmx" }, { NULL, NULL }
};

/*
 * Files of /proc that only root may change.  A sandboxed root has the same uid
 * and could write to them.
 */
static const char *const kernels[] = {
	"/proc/acpi", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/kcore",
	"/proc/keys", "/proc/scsi", "/proc/sys", "/proc/sysrq-trigger",
	"/proc/timer_list", NULL
};

/* --- /dev --- */

static int
copy_node(struct sbmount *m, const char *name, int *tree)
{
	char	 path[32];

	snprintf(path, sizeof(path), "/dev/%s", name);
	*tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (*tree == -1 && errno != ENOENT)
		return sbmount_failed(m, "copying", path);
	return 0;
}

static int
put_node(struct sbmount *m, const char *name, int tree)
{
	char	 path[32];
	int	 fd, rv;

	if (tree == -1)
		return 0;
	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
	if (fd == -1) {
		fd_close(&tree);
		return sbmount_failed(m, "making", path);
	}
	rv = sbmount_put(m, tree, fd, path);
	fd_close(&fd);
	return rv;
}

/* Make folders, symlinks and file systems in our /dev. */
static int
furnish_dev(struct sbmount *m)
{
	char	 path[32];
	size_t	 i;

	for (i = 0; links[i].name != NULL; i++) {
		snprintf(path, sizeof(path), "/dev/%s", links[i].name);
		if (symlink(links[i].to, path) == -1)
			return sbmount_failed(m, "making", path);
	}
	if (mkdir("/dev/pts", 0755) == -1 || mkdir("/dev/shm", 0755) == -1)
		return sbmount_failed(m, "making", "/dev/pts");
	if (mount("devpts", "/dev/pts", "devpts", PLAIN,
	    "newinstance,ptmxmode=0666,mode=620") == -1)
		return sbmount_failed(m, "mounting", "/dev/pts");
	/* The worker may be the one to free its contents: limit them. */
	if (mount("tmpfs", "/dev/shm", "tmpfs", PLAIN | MS_NODEV,
	    "mode=1777,nr_inodes=16k") == -1)
		return sbmount_failed(m, "mounting", "/dev/shm");
	return 0;
}

int
sbmount_copy_nodes(struct sbmount *m)
{
	size_t	 i;

	static_assert(sizeof(nodes) / sizeof(nodes[0]) - 1 <= SBMOUNT_NODES,
	    "room for the nodes");
	for (i = 0; i < SBMOUNT_NODES; i++)
		m->nodes[i] = -1;
	for (i = 0; nodes[i] != NULL; i++)
		if (copy_node(m, nodes[i], &m->nodes[i]) == -1)
			return -1;
	return 0;
}

static int
make_dev(struct sbmount *m)
{
	int	 fd, rv = 0;
	size_t	 i;

	if (sbmount_point(m, "/dev", true) == -1)
		return -1;
	if (mount("tmpfs", "/dev", "tmpfs", PLAIN, "mode=755,size=64k") == -1)
		return sbmount_failed(m, "mounting", "/dev");
	for (i = 0; nodes[i] != NULL && rv == 0; i++) {
		rv = put_node(m, nodes[i], m->nodes[i]);
		m->nodes[i] = -1;
	}
	if (rv == -1 || furnish_dev(m) == -1)
		return -1;
	if ((fd = open("/dev", O_PATH | O_CLOEXEC)) == -1)
		return sbmount_failed(m, "opening", "/dev");
	rv = sbmount_read_only(fd, false);
	fd_close(&fd);
	return rv == 0 ? 0 : sbmount_failed(m, "sealing", "/dev");
}

/* --- /proc --- */

/* Make kernel files read-only, those with secrets inaccessible. */
static int
protect_kernel(struct sbmount *m)
{
	size_t	 i;
	int	 tree, fd, rv = 0;

	for (i = 0; kernels[i] != NULL && rv == 0; i++) {
		tree = open_tree(AT_FDCWD, kernels[i],
		    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (tree == -1 && errno == ENOENT)
			continue;
		fd = open(kernels[i], O_PATH | O_CLOEXEC);
		if (tree == -1 || fd == -1 ||
		    sbmount_read_only(tree, false) == -1) {
			fd_close(&tree);
			rv = sbmount_failed(m, "protecting", kernels[i]);
		} else {
			rv = sbmount_put(m, tree, fd, kernels[i]);
		}
		fd_close(&fd);
	}
	return rv;
}

static int
make_proc(struct sbmount *m)
{
	if (sbmount_point(m, "/proc", true) == -1)
		return -1;
		/*
		 * hidepid: processes that the reader may not trace are
		 * invisible (proc(5)), for example the holder.  Before Linux
		 * 5.8 there is only hidepid=2, with less effect for root.
		 */
	if (mount("proc", "/proc", "proc", PLAIN | MS_NODEV,
	    "hidepid=ptraceable") == -1 && (errno != EINVAL || mount("proc",
	    "/proc", "proc", PLAIN | MS_NODEV, "hidepid=2") == -1))
		return sbmount_failed(m, "mounting", "/proc");
	return geteuid() == 0 ? protect_kernel(m) : 0;
}

int
sbmount_system(struct sbmount *m)
{
	if (make_dev(m) == -1)
		return -1;
	return make_proc(m);
}

/* --- patterns --- */

/* A walk for matches of a pattern. */
struct walk {
	const char	*pattern;
	char		 name[2 * PATH_MAX];	/* as in the pattern */
	size_t		 base_len;		/* of the base in name */
	size_t		 real_len;		/* of the base's real path */
	unsigned	*budget;
};

/* Return the length of a folder's path before the next slash. */
static size_t
folder_len(const char *path)
{
	return strcmp(path, "/") == 0 ? 0 : strlen(path);
}

int
sbmount_look_at_pattern(struct sbmount *m, struct place *p)
{
	char	 base[PATH_MAX], real[PATH_MAX], self[FD_SELF_MAX];
	ssize_t	 n;

	assert(p->fd == -1 && p->real == NULL);
	if (pathglob_base(p->rule->path, base, sizeof(base)) == -1)
		return sbmount_failed(m, "hiding", p->rule->path);
	/* Without search permission for us commands have none either. */
	if ((p->fd = open(base, O_PATH | O_CLOEXEC)) == -1)
		return errno == ENOENT || errno == ENOTDIR ||
		    errno == ELOOP || errno == EACCES ? 0 :
		    sbmount_failed(m, "looking at", base);
	if (fstat(p->fd, &p->st) == -1 || (n = readlink(fd_self(p->fd, self),
	    real, sizeof(real) - 1)) == -1)
		return sbmount_failed(m, "looking at", base);
	real[n] = '\0';
	if ((p->real = strdup(real)) == NULL)
		return sbmount_failed(m, "looking at", base);
	return 0;
}

/*
 * Hide files, as in the reference; files below a folder match on their own.
 * Folders on the way stay in place, or the next command's matches would differ.
 */
static int
hide_match(struct sbmount *m, const char *path)
{
	int	 fd, rv;

	if (sbmount_pin_way(m, path) == -1)
		return -1;
	if ((fd = sbmount_open(path)) == -1)
		return errno == ENOENT ? 0 :
		    sbmount_failed(m, "hiding", path);
	rv = sbmount_void(m, fd, path);
	fd_close(&fd);
	return rv;
}

/* Make a folder unlistable; known names in it still open. */
static int
hide_folder(struct sbmount *m, const char *path)
{
	int	 fd, rv;

	if (sbmount_allows_in(m->plan, path)) {
		errno = EACCES;
		return sbmount_failed(m, "looking for what to hide in", path);
	}
	if (sbmount_pin_way(m, path) == -1)
		return -1;
	if ((fd = sbmount_open(path)) == -1)
		return errno == ENOENT ? 0 :
		    sbmount_failed(m, "hiding", path);
	rv = sbmount_mask(m, fd, path, MASK_MODE_SHUT);
	fd_close(&fd);
	return rv;
}

/* It could not be read: no error if nobody can reach it; else -1. */
static int
unseen(struct sbmount *m, const FTSENT *e)
{
	if (e->fts_errno == ENOENT || (e->fts_info == FTS_NS &&
	    e->fts_errno == EACCES))
		return 0;
	if (e->fts_info == FTS_DNR && e->fts_errno == EACCES)
		return faccessat(AT_FDCWD, e->fts_path, X_OK, AT_EACCESS) ==
		    -1 && errno == EACCES ? 0 : hide_folder(m, e->fts_path);
	errno = e->fts_info == FTS_DC ? ELOOP : e->fts_errno;
	return sbmount_failed(m, "looking for what to hide in", e->fts_path);
}

/* Set w->name as the pattern has it; false: too long. */
static bool
sbmount_system_find_name(struct walk *w, const FTSENT *e)
{
	const char	*rest = e->fts_path + w->real_len;
	size_t		 len = strlen(rest);

	assert(w->base_len < sizeof(w->name));
	if (len >= sizeof(w->name) - w->base_len)
		return false;
	memcpy(w->name + w->base_len, rest, len + 1);
	return true;
}

/* A name that is too long is hidden in any case. */
static bool
is_match(struct walk *w, const FTSENT *e)
{
	return !sbmount_system_find_name(w, e) || pathglob_match(w->pattern,
	    w->name);
}

/*
 * Kernel file systems, whose files come and go with processes and devices:
 * patterns do not apply.
 */
static bool
is_kernels(const FTSENT *e)
{
	static const long	 types[] = {
		BPF_FS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		DEBUGFS_MAGIC, DEVPTS_SUPER_MAGIC, PROC_SUPER_MAGIC,
		SECURITYFS_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC
	};
	struct statfs		 fs;
	size_t			 i;

	if (e->fts_statp->st_dev == e->fts_parent->fts_statp->st_dev ||
	    statfs(e->fts_path, &fs) == -1)
		return false;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (fs.f_type == types[i])
			return true;
	return false;
}

/* Whether to skip a folder. */
static bool
is_left_out(struct sbmount *m, struct walk *w, const FTSENT *e)
{
	if (e->fts_level == 0)
		return false;
	if (m->plan->glob_depth != 0 &&
	    e->fts_level >= (int)m->plan->glob_depth)
		return true;
	/* A sandbox has its own /dev. */
	return strcmp(e->fts_path, "/dev") == 0 || is_kernels(e) ||
	    (sbmount_system_find_name(w, e) &&
	    !pathglob_may_match_below(w->pattern, w->name));
}

static int
sbmount_system_walk_entry(struct sbmount *m, struct walk *w, FTS *fts,
    FTSENT *e)
{
	if (e->fts_info == FTS_DP)
		return 0;
	if ((*w->budget)-- == 0) {
		errno = E2BIG;
		return sbmount_failed(m, "hiding", w->pattern);
	}
	switch (e->fts_info) {
	case FTS_D:
		if (is_left_out(m, w, e))
			fts_set(fts, e, FTS_SKIP);
		return 0;
	case FTS_DNR:
	case FTS_NS:
	case FTS_ERR:
	case FTS_DC:
		return unseen(m, e);
	case FTS_F:
	case FTS_DEFAULT:
		return is_match(w, e) ? hide_match(m, e->fts_path) : 0;
	default:
		return 0;
	}
}

/* Walk below the base, as deep as the plan says. */
static int
hide_matches(struct sbmount *m, const struct place *p, unsigned *budget)
{
	struct walk	 w = { .pattern = p->rule->path, .budget = budget };
	char		*roots[2] = { p->real, NULL };
	FTS		*fts;
	FTSENT		*e;
	int		 fd, rv = 0;

	if ((fd = sbmount_find_again(m, p)) < 0)
		return fd == SBMOUNT_UNSEEN ? 0 : -1;
	fd_close(&fd);
	if (pathglob_base(w.pattern, w.name, PATH_MAX) == -1 ||
	    (fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL)) == NULL)
		return sbmount_failed(m, "hiding", w.pattern);
	w.base_len = folder_len(w.name);
	w.real_len = folder_len(p->real);
	errno = 0;
	while (rv == 0 && (e = fts_read(fts)) != NULL) {
		rv = sbmount_system_walk_entry(m, &w, fts, e);
		errno = 0;
	}
	if (rv == 0 && errno != 0)
		rv = sbmount_failed(m, "hiding", w.pattern);
	fts_close(fts);
	return rv;
}

int
sbmount_patterns(struct sbmount *m)
{
	unsigned	 budget = LIMIT_PATTERN_LOOKS;
	struct place	*p;
	size_t		 i;

	for (i = 0; i < m->plan->n; i++) {
		p = &m->places[i];
		if (p->rule->kind != PLAN_HIDE)
			continue;
		if (sbmount_is_system(p->rule->path) &&
		    sbmount_look_at_pattern(m, p) == -1)
			return -1;
		if (p->real != NULL && hide_matches(m, p, &budget) == -1)
			return -1;
	}
	return 0;
}
