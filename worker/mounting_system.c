/* /dev and /proc of a sandbox, and what its patterns hide. */
#include "worker/mounting.h"

#include <sys/mount.h>

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/pathglob.h"

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
 * What of /proc only root may change, for a sandboxed root: its number is
 * the same inside and out, so the kernel's files are his.
 */
static const char *const kernels[] = {
	"/proc/acpi", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/kcore",
	"/proc/keys", "/proc/scsi", "/proc/sys", "/proc/sysrq-trigger",
	"/proc/timer_list", NULL
};

/* --- /dev --- */

static int
copy_node(struct mounting *m, const char *name, int *tree)
{
	char	 path[32];

	snprintf(path, sizeof(path), "/dev/%s", name);
	*tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (*tree == -1 && errno != ENOENT)
		return mounting_failed(m, "copying", path);
	return 0;
}

static int
put_node(struct mounting *m, const char *name, int tree)
{
	char	 path[32];
	int	 fd, rv;

	if (tree == -1)
		return 0;
	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
	if (fd == -1) {
		fd_close(&tree);
		return mounting_failed(m, "making", path);
	}
	rv = mounting_put(m, tree, fd, path);
	fd_close(&fd);
	return rv;
}

/* Folders, links and file systems in our /dev. */
static int
furnish_dev(struct mounting *m)
{
	char	 path[32];
	size_t	 i;

	for (i = 0; links[i].name != NULL; i++) {
		snprintf(path, sizeof(path), "/dev/%s", links[i].name);
		if (symlink(links[i].to, path) == -1)
			return mounting_failed(m, "making", path);
	}
	if (mkdir("/dev/pts", 0755) == -1 || mkdir("/dev/shm", 0755) == -1)
		return mounting_failed(m, "making", "/dev/pts");
	if (mount("devpts", "/dev/pts", "devpts", PLAIN,
	    "newinstance,ptmxmode=0666,mode=620") == -1)
		return mounting_failed(m, "mounting", "/dev/pts");
	/* The worker may be the one who has to free what is in it. */
	if (mount("tmpfs", "/dev/shm", "tmpfs", PLAIN | MS_NODEV,
	    "mode=1777,nr_inodes=16k") == -1)
		return mounting_failed(m, "mounting", "/dev/shm");
	return 0;
}

int
mounting_copy_nodes(struct mounting *m)
{
	size_t	 i;

	for (i = 0; i < MOUNTING_NODES; i++)
		m->nodes[i] = -1;
	for (i = 0; nodes[i] != NULL; i++)
		if (copy_node(m, nodes[i], &m->nodes[i]) == -1)
			return -1;
	return 0;
}

static int
make_dev(struct mounting *m)
{
	int	 fd, rv = 0;
	size_t	 i;

	if (mounting_point(m, "/dev", true) == -1)
		return -1;
	if (mount("tmpfs", "/dev", "tmpfs", PLAIN, "mode=755,size=64k") == -1)
		return mounting_failed(m, "mounting", "/dev");
	for (i = 0; nodes[i] != NULL && rv == 0; i++) {
		rv = put_node(m, nodes[i], m->nodes[i]);
		m->nodes[i] = -1;
	}
	if (rv == -1 || furnish_dev(m) == -1)
		return -1;
	if ((fd = open("/dev", O_PATH | O_CLOEXEC)) == -1)
		return mounting_failed(m, "opening", "/dev");
	rv = mounting_read_only(fd, false);
	fd_close(&fd);
	return rv == 0 ? 0 : mounting_failed(m, "sealing", "/dev");
}

/* --- /proc --- */

/* Read-only, and what would tell secrets cannot be opened. */
static int
protect_kernel(struct mounting *m)
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
		    mounting_read_only(tree, false) == -1) {
			fd_close(&tree);
			rv = mounting_failed(m, "protecting", kernels[i]);
		} else {
			rv = mounting_put(m, tree, fd, kernels[i]);
		}
		fd_close(&fd);
	}
	return rv;
}

static int
make_proc(struct mounting *m)
{
	if (mounting_point(m, "/proc", true) == -1)
		return -1;
	/*
	 * Who may not trace a process does not see it (proc(5)): not the
	 * holder, nor, with Landlock, other commands.  What is before Linux
	 * 5.8 has only the second word for it, which means less for root.
	 */
	if (mount("proc", "/proc", "proc", PLAIN | MS_NODEV,
	    "hidepid=ptraceable") == -1 && (errno != EINVAL || mount("proc",
	    "/proc", "proc", PLAIN | MS_NODEV, "hidepid=2") == -1))
		return mounting_failed(m, "mounting", "/proc");
	return geteuid() == 0 ? protect_kernel(m) : 0;
}

int
mounting_system(struct mounting *m)
{
	if (make_dev(m) == -1)
		return -1;
	return make_proc(m);
}

/* --- patterns --- */

/* Files, as the reference; what is in a folder matches by itself or not. */
static int
hide_match(struct mounting *m, const char *path)
{
	int	 fd, rv;

	if ((fd = mounting_open(path)) == -1)
		return errno == ENOENT ? 0 :
		    mounting_failed(m, "hiding", path);
	rv = mounting_void(m, fd, path);
	fd_close(&fd);
	return rv;
}

/* Walk below the pattern's fixed part, as deep as the plan says. */
static int
hide_matches(struct mounting *m, const char *pattern, unsigned *budget)
{
	char	 base[PATH_MAX], *roots[2] = { base, NULL };
	FTS	*fts;
	FTSENT	*e;
	int	 rv = 0;

	if (pathglob_base(pattern, base, sizeof(base)) == -1)
		return mounting_failed(m, "hiding", pattern);
	if ((fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL)) == NULL)
		return mounting_failed(m, "hiding", pattern);
	while (rv == 0 && (e = fts_read(fts)) != NULL) {
		if (e->fts_info == FTS_DP)
			continue;
		if ((*budget)-- == 0) {
			errno = E2BIG;
			rv = mounting_failed(m, "hiding", pattern);
		} else if ((e->fts_info == FTS_F ||
		    e->fts_info == FTS_DEFAULT) &&
		    pathglob_match(pattern, e->fts_path)) {
			rv = hide_match(m, e->fts_path);
		} else if (m->plan->glob_depth != 0 &&
		    e->fts_level >= (int)m->plan->glob_depth) {
			fts_set(fts, e, FTS_SKIP);
		}
	}
	fts_close(fts);
	return rv;
}

int
mounting_patterns(struct mounting *m)
{
	unsigned	 budget = LIMIT_PATTERN_LOOKS;
	size_t		 i;

	for (i = 0; i < m->plan->n; i++)
		if (m->plan->rules[i].kind == PLAN_HIDE &&
		    hide_matches(m, m->plan->rules[i].path, &budget) == -1)
			return -1;
	return 0;
}
