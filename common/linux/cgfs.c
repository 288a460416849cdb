#include "common/linux/cgfs.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/mountinfo.h"
#include "common/log.h"

#define DEPTH_MAX	32	/* levels of nested groups */
#define PROC_MAX	((size_t)1 << 20)	/* bytes of a file of /proc */

/* --- finding a group --- */

/* Whether a comma-separated list, which ends before end, has a word. */
static bool
has_word(const char *list, const char *end, const char *word)
{
	size_t	 n = strlen(word);

	for (; list < end; list += strcspn(list, ",") + 1)
		if (strncmp(list, word, n) == 0 &&
		    (list + n == end || list[n] == ','))
			return true;
	return false;
}

/*
 * Return the path after "0::", or after "N:CONTROLLER,...:" of version 1;
 * malloc'd, or NULL.
 */
static char *
own_path(const char *cgroup, const char *controller)
{
	const char	*line, *list, *path;

	for (line = cgroup; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		list = line + strspn(line, "0123456789");
		if (*list != ':' ||
		    (path = strchr(list + 1, ':')) == NULL || path[1] != '/')
			continue;
		if (controller == NULL ? strncmp(line, "0::", 3) == 0 :
		    has_word(list + 1, path, controller))
			return strndup(path + 1, strcspn(path + 1, "\n"));
	}
	return NULL;
}

/*
 * Return the part of path below the root of a mount, empty or beginning with a
 * slash; NULL if the mount does not show the path.
 */
static const char *
cgfs_below(const char *path, const char *root)
{
	size_t	 n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	return strcmp(path + n, "/") == 0 ? path + n + 1 : path + n;
}

/* Compare the text after " - ": "cgroup2 ..." or "cgroup NAME OPTIONS". */
static bool
is_kind(const char *type, const char *controller)
{
	const char	*options;

	if (controller == NULL)
		return strncmp(type, "cgroup2 ", 8) == 0;
	return strncmp(type, "cgroup ", 7) == 0 &&
	    (options = strchr(type + 7, ' ')) != NULL &&
	    has_word(options + 1, options + strlen(options), controller);
}

/* Parse "36 35 98:0 ROOT POINT options ... - cgroup2 ...", cut up in place. */
static int
try_mount(char *line, const char *controller, const char *path, char *out,
    size_t size)
{
	char		*field[5], *type, *save;
	const char	*rest;
	size_t		 i;
	int		 n;

	if ((type = strstr(line, " - ")) == NULL ||
	    !is_kind(type + 3, controller))
		return -1;
	for (i = 0; i < 5; i++)
		if ((field[i] = strtok_r(i == 0 ? line : NULL, " ",
		    &save)) == NULL)
			return -1;
	mountinfo_unescape(field[3]);
	mountinfo_unescape(field[4]);
	if ((rest = cgfs_below(path, field[3])) == NULL)
		return -1;
	n = snprintf(out, size, "%s%s", field[4], rest);
	if (n < 0 || (size_t)n >= size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

int
cgfs_parse(const char *cgroup, const char *mountinfo, const char *controller,
    char *out, size_t size)
{
	char	*path, *copy = NULL, *line, *next;
	int	 r = -1;

	errno = ENOENT;
	if ((path = own_path(cgroup, controller)) == NULL)
		return -1;
	/* Outside of our cgroup namespace (cgroup_namespaces(7)). */
	if (strncmp(path, "/..", 3) == 0)
		goto out;
	if ((copy = strdup(mountinfo)) == NULL)
		goto out;
	for (line = copy; r == -1 && line != NULL; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = '\0';
		r = try_mount(line, controller, path, out, size);
	}
 out:
	free(path);
	free(copy);
	return r;
}

/* Read a file of /proc of any length: malloc'd, or NULL with errno. */
static char *
cgfs_slurp(const char *path)
{
	FILE	*f;
	char	*text = NULL;
	size_t	 cap = 0;
	ssize_t	 n;

	if ((f = fopen(path, "re")) == NULL)
		return NULL;
	/* The text has no NUL, so this reads to its end. */
	n = getdelim(&text, &cap, '\0', f);
	fclose(f);
	if (n <= 0 || (size_t)n > PROC_MAX) {
		free(text);
		errno = ENOENT;
		return NULL;
	}
	return text;
}

int
cgfs_own(const char *controller, char *out, size_t size)
{
	char	*cgroup, *mounts = NULL;
	int	 r = -1;

	if ((cgroup = cgfs_slurp("/proc/self/cgroup")) != NULL &&
	    (mounts = cgfs_slurp("/proc/self/mountinfo")) != NULL)
		r = cgfs_parse(cgroup, mounts, controller, out, size);
	free(cgroup);
	free(mounts);
	return r;
}

/* --- changing a group --- */

int
cgfs_write(int dir, const char *file, const char *text)
{
	ssize_t	 n;
	int	 fd;

	if ((fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return -1;
	n = write(fd, text, strlen(text));
	fd_close(&fd);
	return n == -1 ? -1 : 0;
}

bool
cgfs_is_empty(int dir, const char *name)
{
	char	 file[NAME_MAX + 32], text[128], *at;

	snprintf(file, sizeof(file), "%s/cgroup.events", name);
	return fd_read_file(dir, file, text, sizeof(text)) != -1 &&
	    (at = strstr(text, "populated ")) != NULL && at[10] == '0';
}

int
cgfs_kill(int dir, const char *name)
{
	char	 file[NAME_MAX + 32];

	snprintf(file, sizeof(file), "%s/cgroup.kill", name);
	return cgfs_write(dir, file, "1");
}

static int	 remove_at(int, const char *, unsigned *, unsigned);

/* Remove all groups below the one at dir, which is closed. */
static int
remove_below(int dir, unsigned *budget, unsigned depth)
{
	struct dirent	*e;
	DIR		*d;
	int		 error = 0;

	if ((d = fdopendir(dir)) == NULL) {
		close(dir);
		return -1;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0 &&
		    remove_at(dirfd(d), e->d_name, budget, depth + 1) == -1)
			error = errno;
	closedir(d);
	errno = error;
	return error == 0 ? 0 : -1;
}

/* Remove a group without children. */
static int
remove_leaf(int dir, const char *name, unsigned *budget)
{
	if (*budget == 0) {
		errno = EAGAIN;
		return -1;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) == -1)
		return errno == ENOENT ? 0 : -1;
	--*budget;
	return 0;
}

static int
remove_at(int dir, const char *name, unsigned *budget, unsigned depth)
{
	int	 fd;

	if (remove_leaf(dir, name, budget) == 0)
		return 0;
	/* It has processes or children. */
	if (errno != EBUSY)
		return -1;
	if (depth > DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	if ((fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1 || remove_below(fd, budget, depth) == -1)
		return -1;
	return remove_leaf(dir, name, budget);
}

int
cgfs_remove(int dir, const char *name, unsigned *budget)
{
	return remove_at(dir, name, budget, 0);
}

/* --- claimed groups --- */

#define CLAIM_MAX	10		/* names tried */
#define STALE_MAX	(1u << 20)	/* groups removed in one go */

static int
open_group(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW);
}

bool
cgfs_is_there(int parent, const char *name, int dir)
{
	struct stat	 ours, there;

	return fstat(dir, &ours) == 0 &&
	    fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* cgfs_remove_stale() of another daemon may lock or remove it before us. */
static int
cgfs_try_claim(int parent, const char *name)
{
	int	 dir;

	if (mkdirat(parent, name, 0755) == -1 ||
	    (dir = open_group(parent, name)) == -1)
		return -1;
	if (flock(dir, LOCK_EX | LOCK_NB) == 0 &&
	    cgfs_is_there(parent, name, dir))
		return dir;
	close(dir);
	errno = EEXIST;
	return -1;
}

int
cgfs_claim(int parent, const char *prefix, char *name, size_t size)
{
	int	 dir = -1, i, n;

	assert(parent != -1);
	for (i = 0; i < CLAIM_MAX && dir == -1; i++) {
		n = snprintf(name, size, i == 0 ? "%s%ld" : "%s%ld-%d", prefix,
		    (long)getpid(), i);
		if (n < 0 || (size_t)n >= size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if ((dir = cgfs_try_claim(parent, name)) == -1 && errno !=
		    EEXIST && errno != ENOENT)
			return -1;
	}
	return dir;
}

int
cgfs_claim_former(int parent, const char *name)
{
	int	 dir = open_group(parent, name);

	if (dir != -1 && flock(dir, LOCK_EX | LOCK_NB) == -1)
		fd_close(&dir);
	return dir;
}

static void
remove_unlocked(int parent, const char *name)
{
	unsigned	 budget = STALE_MAX;
	int		 fd;

	if ((fd = open_group(parent, name)) == -1)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (cgfs_remove(parent, name, &budget) == 0)
			log_debug("removed the stale control group %s", name);
		else
			log_debug("control group %s: %s", name,
			    strerror(errno));
	}
	close(fd);
}

void
cgfs_remove_stale(int parent, const char *prefix)
{
	struct dirent	*e;
	DIR		*d;
	int		 fd;

	if ((fd = open_group(parent, ".")) == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_type == DT_DIR &&
		    strncmp(e->d_name, prefix, strlen(prefix)) == 0)
			remove_unlocked(parent, e->d_name);
	closedir(d);
}
