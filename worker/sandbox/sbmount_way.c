/* Paths to what is protected in a writable folder. */
#include "worker/sandbox/sbmount.h"
#include "worker/sandbox/sbmount_priv.h"

#include <sys/file.h>
#include <sys/mount.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"

/* Get the parent folder; out has PATH_MAX bytes. */
static void
sbmount_way_folder_of(const char *path, char *out)
{
	const char	*slash = strrchr(path, '/');

	snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 :
	    (int)(slash - path), path);
}

/*
 * Whether the deepest place at or above a path is writable.  only_given: ignore
 * read-only rules that grant nothing.
 */
static bool
is_written(const struct sbmount *m, const char *path, bool only_given)
{
	const struct place	*p, *best = NULL;
	size_t			 i, len, longest = 0;

	for (i = 0; i < m->plan->n; i++) {
		p = &m->places[i];
		if (p->rule->kind == PLAN_HIDE || p->real == NULL ||
		    !plan_is_within(p->real, path) ||
		    (only_given && p->rule->kind == PLAN_READ && !p->gives))
			continue;
		len = strlen(p->real);
		/* Of two rules for a place the stricter is on top. */
		if (best == NULL || len > longest || (len == longest &&
		    best->rule->kind == PLAN_WRITE))
			best = p;
		longest = strlen(best->real);
	}
	return best != NULL && best->rule->kind == PLAN_WRITE;
}

bool
sbmount_is_in_writable(const struct sbmount *m, const char *real)
{
	char	 folder[PATH_MAX];

	sbmount_way_folder_of(real, folder);
	return is_written(m, folder, false);
}

bool
sbmount_is_writable(const struct sbmount *m, const char *real)
{
	return is_written(m, real, true);
}

int
sbmount_resolve(const char *path, char *out)
{
	char	 folder[PATH_MAX], self[FD_SELF_MAX];
	ssize_t	 n;
	int	 fd;

	sbmount_way_folder_of(path, folder);
	if ((fd = open(folder, O_PATH | O_CLOEXEC)) == -1)
		return -1;
	n = readlink(fd_self(fd, self), out, PATH_MAX);
	fd_close(&fd);
	if (n == -1)
		return -1;
	if (out[0] != '/') {
			errno = ENOENT;		/* "(unreachable)" */
		return -1;
	}
	if (n == 1)
			n = 0;			/* the root ends in a slash */
	if (snprintf(folder, sizeof(folder), "%s", strrchr(path, '/')) +
	    n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(out + n, folder);
	return 0;
}

int
sbmount_follow(const char *link, const char *rest, char *path)
{
	char	 to[PATH_MAX], whole[PATH_MAX];
	ssize_t	 n;
	int	 len;

	if ((n = readlink(link, to, sizeof(to) - 1)) == -1)
		return -1;
	to[n] = '\0';
	if (to[0] == '/')
		len = snprintf(whole, sizeof(whole), "%s%s", to, rest);
	else
		len = snprintf(whole, sizeof(whole), "%.*s/%s%s",
		    (int)(strrchr(link, '/') - link), link, to, rest);
	if (len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(path, whole, (size_t)len + 1);
	return 0;
}

void
sbmount_links_start(struct sbmount_links *l, const char *name)
{
	snprintf(l->path, sizeof(l->path), "%s", name);
	l->at = 0;
	l->n = 0;
}

int
sbmount_links_next(struct sbmount_links *l)
{
	const char	*end = l->path + l->at;
	struct stat	 st;

	assert(l->at <= strlen(l->path));
	if (l->n > 0) {
		/* A dangling symlink is the last. */
		if (l->n > SBMOUNT_LINKS ||
		    sbmount_follow(l->part, end, l->path) == -1)
			return 0;
		end = l->path;
	}
	while (*end != '\0') {
		end = strchrnul(end + 1, '/');
		snprintf(l->part, sizeof(l->part), "%.*s",
		    (int)(end - l->path), l->path);
		if (lstat(l->part, &st) == -1 || !S_ISLNK(st.st_mode))
			continue;
		l->n++;
		l->at = (size_t)(end - l->path);
		return sbmount_resolve(l->part, l->real) == -1 ? -1 : 1;
	}
	return 0;
}

/* Whether something exists, apart from a stand-in. */
static bool
is_real(const char *path)
{
	int	 fd;
	bool	 is;

	if ((fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		return false;
	is = !sbmount_is_stand_in(fd);
	fd_close(&fd);
	return is;
}

int
sbmount_first_missing(const char *name, char *out)
{
	char		 path[PATH_MAX], part[PATH_MAX];
	const char	*end = path;
	struct stat	 st;
	int		 links = 0;

	snprintf(path, sizeof(path), "%s", name);
	do {
		end = strchrnul(end + 1, '/');
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (is_real(part))
			continue;
			/* A dangling symlink: its target matters. */
		if (lstat(part, &st) == -1 || !S_ISLNK(st.st_mode) ||
		    ++links > SBMOUNT_LINKS ||
		    sbmount_follow(part, end, path) == -1)
			break;
		end = path;
	} while (*end != '\0');
	return sbmount_resolve(part, out);
}

/* Mount a folder on itself: then it cannot be renamed (rename(2), EBUSY). */
static int
pin(struct sbmount *m, const char *path)
{
	struct statx	 x;
	int		 fd, tree, rv = 0;

	if ((fd = sbmount_open(path)) == -1)
		/* Symlinks are shut and missing names are covered. */
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
		    0 : sbmount_failed(m, "protecting", path);
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &x) == -1) {
		rv = sbmount_failed(m, "protecting", path);
	} else if ((x.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) {
		tree = open_tree(fd, "", AT_EMPTY_PATH | AT_RECURSIVE |
		    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		rv = tree == -1 ? sbmount_failed(m, "protecting", path) :
		    sbmount_put(m, tree, fd, path);
	}
	fd_close(&fd);
	return rv;
}

int
sbmount_pin_way(struct sbmount *m, const char *path)
{
	char		 part[PATH_MAX];
	const char	*end = path;

	for (;;) {
		end = strchrnul(end + 1, '/');
		if (*end == '\0')
			return 0;
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (sbmount_is_in_writable(m, part) && pin(m, part) == -1)
			return -1;
	}
}

/* --- stand-ins --- */

/* A folder that cannot be read does not count as empty. */
static bool
sbmount_way_is_empty(int fd)
{
	const struct dirent	*e;
	DIR			*d;
	int			 dir;
	bool			 empty;

	if ((dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return false;
	if ((d = fdopendir(dir)) == NULL) {
		fd_close(&dir);
		return false;
	}
	do {
		errno = 0;
		e = readdir(d);
	} while (e != NULL && (strcmp(e->d_name, ".") == 0 ||
	    strcmp(e->d_name, "..") == 0));
	empty = e == NULL && errno == 0;
	closedir(d);
	return empty;
}

bool
sbmount_is_stand_in(int fd)
{
	struct stat	 st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) &&
	    (st.st_mode & 07777) == STAND_IN && st.st_uid == geteuid() &&
	    st.st_nlink <= 2 && sbmount_way_is_empty(fd);
}

static int
sbmount_way_remember(struct mounted *out, const char *path, int fd)
{
	size_t	 len = strlen(path) + 1;

	assert(out->made_len <= sizeof(out->made) && fd != -1);
	if (len > sizeof(out->made) - out->made_len ||
	    out->nlocks >= MOUNTED_LOCKS) {
		errno = E2BIG;
		return -1;
	}
	memcpy(out->made + out->made_len, path, len);
	out->made_len += len;
	out->locks[out->nlocks++] = fd;
	return 0;
}

/*
 * Make or take over a stand-in: lock it, then check that it is still there.
 * Return the descriptor, or -1 with errno; EAGAIN: try again.
 */
static int
claim_in(int dir, const char *name)
{
	struct stat	 st, now;
	int		 fd;

	if (mkdirat(dir, name, STAND_IN) == -1 && errno != EEXIST)
		return -1;
	if ((fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1) {
		if (errno == ENOENT)
			errno = EAGAIN;
		return -1;
	}
	if (!sbmount_is_stand_in(fd)) {
		fd_close(&fd);
			errno = ESTALE;		/* a real folder by now */
		return -1;
	}
	if (flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &st) == 0 &&
	    fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    now.st_ino == st.st_ino && now.st_dev == st.st_dev)
		return fd;
	fd_close(&fd);
	errno = EAGAIN;
	return -1;
}

	/* Follow no symlink: the stand-in would be elsewhere. */
static int
sbmount_way_claim(const char *path)
{
	const char	*slash = strrchr(path, '/');
	char		 parent[PATH_MAX];
	int		 dir, fd;

	snprintf(parent, sizeof(parent), "%.*s",
	    slash == path ? 1 : (int)(slash - path), path);
	if ((dir = sbmount_open(parent)) == -1)
		return -1;
	fd = claim_in(dir, slash + 1);
	fd_close(&dir);
	return fd;
}

int
sbmount_stand_in(struct sbmount *m, const char *path)
{
	struct timespec	 ms = { 0, 1000000 };
	int		 fd, tries = 0;

	while ((fd = sbmount_way_claim(path)) == -1 && errno == EAGAIN &&
	    tries++ < 100)
		nanosleep(&ms, NULL);
	if (fd == -1 || sbmount_way_remember(m->out, path, fd) == -1) {
		fd_close(&fd);
		return sbmount_failed(m, "covering", path);
	}
	return 0;
}
