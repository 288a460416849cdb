/*
 * fs/remove.  Removes nothing outside of the tree, whatever others do
 * meanwhile: each folder is opened by its name in an open one, no symlink is
 * followed, and no mount is entered or removed.
 *
 * An unreadable folder is removed if it is empty, as by rm(1).  The first error
 * ends it, unlike rm(1) and like the reference.
 */
#include "worker/fs/fsop_priv.h"

#include <sys/statvfs.h>

#include <linux/openat2.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/mountinfo.h"
#include "worker/fs/dirstack.h"
#include "worker/fs/lookup.h"

#define ROUNDS	16	/* through a folder that is being filled */
#define PARTS	16384	/* the same, for a folder read in parts */
#define TRIES	4	/* if a name changes between folder and file */
#define NAMES	(16 * 1024 * 1024)	/* bytes of names held at once */
#define QUICK	((uint64_t)1 << 30)	/* bytes freed quickly */

struct removal {
	const struct fsop_how	*how;
	struct fsop_result	*r;
	int			 dir;		/* parent of the tree's root */
	const char		*name;		/* of the root in dir */
	struct dirstack	 dirstack;		/* folders being emptied */
	size_t			 count;		/* names seen */
};

/* --- mounts --- */

/* Whether a line of mountinfo is a mount below folder. */
static bool
is_mount_below(char *line, const char *folder)
{
	size_t	 len = strlen(folder);
	char	*point, *rest = line;
	int	 i;

	for (i = 0; i < 4; i++)
		strsep(&rest, " ");
	if ((point = strsep(&rest, " ")) == NULL)
		return false;
	mountinfo_unescape(point);
	return strncmp(point, folder, len) == 0 && point[len] == '/';
}

/*
 * Whether something is mounted below: then remove nothing.  A mount that is not
 * visible here is met later.
 */
static bool
has_mounts(int fd)
{
	char	 self[FD_SELF_MAX], folder[PATH_MAX], *line = NULL;
	size_t	 cap = 0;
	ssize_t	 len;
	bool	 found = false;
	FILE	*f;

	if ((len = readlink(fd_self(fd, self), folder,
	    sizeof(folder) - 1)) == -1 ||
	    (f = fopen("/proc/self/mountinfo", "re")) == NULL)
		return false;
	folder[len] = '\0';
	while (!found && getline(&line, &cap, f) != -1)
		found = is_mount_below(line, folder);
	free(line);
	fclose(f);
	return found;
}

/* --- one name --- */

static int
remove_empty(int dir, const char *name, struct fsop_result *r)
{
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno == EBUSY)
		return fsop_refuse(r, FSWHY_PROTECTED);
	if (errno == EEXIST)
		errno = ENOTEMPTY;
	return -1;
}

/* Remove anything but a folder, which is EISDIR. */
static int
remove_other(int dir, const char *name, struct fsop_result *r)
{
	if (unlinkat(dir, name, 0) == 0)
		return 0;
	return errno == EBUSY ? fsop_refuse(r, FSWHY_PROTECTED) : -1;
}

/* Enter a folder, to remove its contents next. */
static int
fsremove_enter(struct removal *rm, int dir, const char *name)
{
	int	 fd;

	fd = tree_open(dir, name, O_RDONLY, RESOLVE_NO_XDEV);
	if (fd == -1 && errno == EXDEV)
		return fsop_refuse(rm->r, FSWHY_PROTECTED);
	if (fd == -1 && errno == EACCES) {
		if (remove_empty(dir, name, rm->r) == 0)
			return 0;
		if (errno == ENOTEMPTY)
			errno = EACCES;
		return -1;
	}
	if (fd == -1 || dirstack_push(&rm->dirstack, fd) == -1)
		return -1;
	return names_read(&dirstack_last(&rm->dirstack)->names, fd, NAMES,
	    rm->how);
}

/* Remove a name listed in dir. */
static int
remove_entry(struct removal *rm, int dir, const char *name, bool is_dir)
{
	int	 i, rv = -1;

	if (++rm->count % 64 == 0 && fsop_cancelled(rm->how) == -1)
		return -1;
	for (i = 0; i < TRIES; i++) {
		rv = is_dir ? fsremove_enter(rm, dir, name) :
		    remove_other(dir, name, rm->r);
		if (rv == 0 || rm->r->why != FSWHY_NONE)
			return rv;
		if (errno == ENOENT)
			return 0;
		if (errno != (is_dir ? ENOTDIR : EISDIR) &&
		    !(is_dir && errno == ELOOP))
			return -1;
		is_dir = !is_dir;
	}
	return -1;
}

/* --- trees --- */

/*
 * Remove the lowest folder after reading it to its end.  If it was filled
 * again, or read in parts, read it once more.
 */
static int
fsremove_leave(struct removal *rm)
{
	struct dirstack_dir	*l = dirstack_last(&rm->dirstack);
	const char		*name = rm->name;
	int			 dir = rm->dir;

	assert(rm->dirstack.n > 0);
	if (rm->dirstack.n > 1) {
		if ((dir = dirstack_above(&rm->dirstack)) == -1)
			return -1;
		name = names_last(&l[-1].names);
	}
	if (remove_empty(dir, name, rm->r) == 0 || (rm->dirstack.n > 1 &&
	    rm->r->why == FSWHY_NONE && (errno == ENOENT || errno == ENOTDIR)))
		return dirstack_pop(&rm->dirstack);
	if (rm->r->why != FSWHY_NONE || errno != ENOTEMPTY)
		return -1;
	if (++l->rounds > (l->names.has_more ? PARTS : ROUNDS)) {
		errno = ENOTEMPTY;
		return -1;
	}
	return names_read(&l->names, l->fd, NAMES, rm->how);
}

static int
remove_tree(struct removal *rm)
{
	const struct dirent64	*de;
	struct dirstack_dir	*l;

	assert(rm->dirstack.n == 0 && rm->dir != -1);
	if (fsremove_enter(rm, rm->dir, rm->name) == -1)
		return -1;
	while (rm->dirstack.n > 0) {
		l = dirstack_last(&rm->dirstack);
		if ((de = names_next(&l->names)) == NULL) {
			if (fsremove_leave(rm) == -1)
				return -1;
		} else if (remove_entry(rm, l->fd, de->d_name,
		    de->d_type == DT_DIR) == -1)
			return -1;
	}
	return 0;
}

static int
remove_folder(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r, int dir, const char *name)
{
	struct removal	 rm = { how, r, dir, name, { 0 }, 0 };
	int		 rv;

	if (how->nonblock || !op->recursive) {
		rv = remove_empty(dir, name, r);
		if (rv == -1 && errno == ENOTEMPTY && op->recursive)
			errno = EAGAIN;
		return rv;
	}
	dirstack_init(&rm.dirstack, O_RDONLY);
	rv = remove_tree(&rm);
	dirstack_fini(&rm.dirstack);
	return rv;
}

/* A mount point: perhaps one that protects a path in a sandbox. */
static int
refuse_mount(int fd, struct fsop_result *r)
{
	struct statvfs	 v;

	if (fstatvfs(fd, &v) == 0 && (v.f_flag & ST_RDONLY) != 0) {
		errno = EROFS;
		return -1;
	}
	return fsop_refuse(r, FSWHY_PROTECTED);
}

/* Remove the name in dir, opened as fd. */
static int
remove_found(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r, int dir, const char *name, int fd,
    const struct statx *x)
{
	if ((x->stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
		return refuse_mount(fd, r);
	if (S_ISLNK(x->stx_mode) && op->nofollow) {
		errno = ELOOP;
		return -1;
	}
	if (S_ISDIR(x->stx_mode)) {
		if (op->recursive && !how->nonblock && has_mounts(fd))
			return fsop_refuse(r, FSWHY_PROTECTED);
		return remove_folder(op, how, r, dir, name);
	}
	if (how->nonblock && x->stx_nlink == 1 &&
	    x->stx_blocks > QUICK / 512) {
		errno = EAGAIN;
		return -1;
	}
	return remove_other(dir, name, r);
}

int
fsop_remove(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct lookup	 l = { how->nonblock, op->nofollow, true };
	struct statx	 x;
	const char	*name;
	int		 dir, fd, rv = -1;

	if ((dir = fsop_look_parent(op->path, op->nofollow, how,
	    &name)) == -1) {
		if (errno == EBUSY)
			return fsop_refuse(r, FSWHY_PROTECTED);
	} else if ((fd = lookup_at(dir, name, &l, &x)) != -1) {
		rv = remove_found(op, how, r, dir, name, fd, &x);
		fd_close(&fd);
	}
	fd_close(&dir);
	if (rv == -1 && r->why == FSWHY_NONE && errno == ENOENT && op->force)
		return 0;
	return rv;
}
