#include "worker/fs/dirstack.h"

#include <linux/openat2.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "worker/fs/fsop_priv.h"
#include "worker/fs/lookup.h"
#include "worker/fs/ownproc.h"

#define NAMES_STEP	32768	/* bytes of a getdents64(2) */

/* --- names --- */

void
names_fini(struct names *ns)
{
	int	 saved = errno;

	free(ns->base);
	memset(ns, 0, sizeof(*ns));
	errno = saved;
}

static int
names_grow(struct names *ns)
{
	size_t	 cap = ns->cap + NAMES_STEP + ns->cap / 2;
	char	*base;

	assert(ns->len <= ns->cap);
	if (ns->cap - ns->len >= NAMES_STEP)
		return 0;
	if ((base = realloc(ns->base, cap)) == NULL)
		return -1;
	ns->base = base;
	ns->cap = cap;
	return 0;
}

/* Shrink to what is used: a deep tree has many of these at a time. */
static void
names_shrink(struct names *ns)
{
	char	*base;

	if (ns->len == 0) {
		free(ns->base);
		ns->base = NULL;
		ns->cap = 0;
	} else if ((base = realloc(ns->base, ns->len)) != NULL) {
		ns->base = base;
		ns->cap = ns->len;
	}
}

int
names_read(struct names *ns, int fd, size_t max, const struct fsop_how *how)
{
	ssize_t	 n;

	ns->len = ns->next = 0;
	ns->has_more = false;
	if (lseek(fd, 0, SEEK_SET) == -1)
		return -1;
	for (;;) {
		if (fsop_cancelled(how) == -1 || names_grow(ns) == -1)
			return -1;
		if ((n = getdents64(fd, ns->base + ns->len,
		    NAMES_STEP)) == -1)
			return -1;
		if (n == 0)
			break;
		ns->len += (size_t)n;
		if (ns->len >= max) {
			ns->has_more = true;
			break;
		}
	}
	names_shrink(ns);
	return 0;
}

const struct dirent64 *
names_next(struct names *ns)
{
	const struct dirent64	*de;

	assert(ns->next <= ns->len && ns->len <= ns->cap);
	while (ns->next < ns->len) {
		de = (const void *)(ns->base + ns->next);
		ns->last = ns->next;
		ns->next += de->d_reclen;
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			return de;
	}
	return NULL;
}

const char *
names_last(const struct names *ns)
{
	assert(ns->last < ns->len);
	return ((const struct dirent64 *)(const void *)(ns->base +
	    ns->last))->d_name;
}

/* --- the stack --- */

void
dirstack_init(struct dirstack *c, int flags)
{
	memset(c, 0, sizeof(*c));
	c->flags = flags;
}

void
dirstack_fini(struct dirstack *c)
{
	size_t	 i;
	int	 saved = errno;

	assert(c->closed <= c->n && c->n <= c->cap);
	for (i = 0; i < c->n; i++) {
		fd_close(&c->links[i].fd);
		names_fini(&c->links[i].names);
	}
	free(c->links);
	dirstack_init(c, c->flags);
	errno = saved;
}

/* Close the topmost open folder and remember its identity. */
static int
close_highest(struct dirstack *c)
{
	struct dirstack_dir	*l = &c->links[c->closed];
	struct stat		 st;

	assert(c->closed < c->n && c->links[c->closed].fd != -1);
	if (fstat(l->fd, &st) == -1)
		return -1;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	fd_close(&l->fd);
	c->closed++;
	return 0;
}

int
dirstack_push(struct dirstack *c, int fd)
{
	struct dirstack_dir	*bigger;
	size_t			 cap = c->cap == 0 ? 16 : c->cap * 2;

	assert(fd != -1 && c->closed <= c->n && c->n <= c->cap);
	if (c->n == c->cap) {
		if ((bigger = reallocarray(c->links, cap,
		    sizeof(*bigger))) == NULL)
			goto fail;
		c->links = bigger;
		c->cap = cap;
	}
	if (c->n - c->closed == CHAIN_OPEN && close_highest(c) == -1)
		goto fail;
	memset(&c->links[c->n], 0, sizeof(c->links[c->n]));
	c->links[c->n++].fd = fd;
	return 0;
 fail:
	fd_close(&fd);
	return -1;
}

struct dirstack_dir *
dirstack_last(const struct dirstack *c)
{
	assert(c->n > 0 && c->links[c->n - 1].fd != -1);
	return &c->links[c->n - 1];
}

int
dirstack_above(struct dirstack *c)
{
	struct dirstack_dir	*l;
	struct stat		 st;
	int			 fd;

	assert(c->n > 1);
	l = &c->links[c->n - 2];
	if (l->fd != -1)
		return l->fd;
	assert(c->closed == c->n - 1);
	if ((fd = openat(l[1].fd, "..", c->flags | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return -1;
	if (fstat(fd, &st) == -1)
		goto fail;
	if (st.st_dev != l->dev || st.st_ino != l->ino) {
		errno = ESTALE;
		goto fail;
	}
	c->closed--;
	return l->fd = fd;
 fail:
	fd_close(&fd);
	return -1;
}

int
dirstack_pop(struct dirstack *c)
{
	struct dirstack_dir	*l = dirstack_last(c);

	if (c->n > 1 && dirstack_above(c) == -1)
		return -1;
	assert(c->closed < c->n);
	fd_close(&l->fd);
	names_fini(&l->names);
	c->n--;
	return 0;
}

/* --- opening --- */

int
tree_open(int dir, const char *path, int flags, uint64_t resolve)
{
	return fd_openat2(dir, path, flags | O_DIRECTORY | O_NOFOLLOW,
	    resolve | RESOLVE_NO_SYMLINKS);
}

int
tree_guard(int fd)
{
	struct statx	 x;

	if (fd != -1 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
	    STATX_BASIC_STATS, &x) == 0 && is_ownproc(fd, &x)) {
		fd_close(&fd);
		errno = EACCES;
	}
	return fd;
}

int
tree_look(const char *path, bool nofollow, const struct fsop_how *how,
    struct stat *st)
{
	struct lookup	 l = { how->nonblock, nofollow, true };
	struct statx	 x;
	const char	*name;
	int		 dir, fd;

	if ((dir = fsop_look_parent(path, nofollow, how, &name)) == -1)
		return errno == EBUSY ?
		    fsop_look(path, nofollow, how, st) : -1;
	fd = lookup_at(dir, name, &l, &x);
	fd_close(&dir);
	if (fd != -1 && fstat(fd, st) == -1)
		fd_close(&fd);
	return fd;
}
