#include "worker/fs/pathwatch.h"

#include <sys/inotify.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/map.h"
#include "worker/fs/lookup.h"

/*
 * One mask for folders and one for other files: the kernel has one watch per
 * inode, and the last mask wins.
 */
#define SELF_MASK	(IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
#define FOLDER_MASK	(SELF_MASK | IN_CREATE | IN_DELETE | IN_MOVE)
#define FILE_MASK	(SELF_MASK | IN_MODIFY)

#define LINKS_MAX	40	/* symlinks followed, as the kernel does */

/* A watched inode, and the points that it serves. */
struct place {
	struct map_node		 node;
	int			 wd;
	LIST_HEAD(, point)	 points;
};

/* The interest of a watch in a name in a place, and in the place itself. */
struct point {
	LIST_ENTRY(point)	 of_place;
	SLIST_ENTRY(point)	 of_watch;
	struct place		*place;
	struct pathwatch		*pathwatch;
	char			 name[];	/* "": the place only */
};

struct pathwatch {
	TAILQ_ENTRY(pathwatch)	 entry;
	struct watcher		*watcher;
	uint64_t		 id;
	bool			 changed;	/* in watcher.changed */
	unsigned		 steps;		/* names looked up so far */
	SLIST_HEAD(, point)	 points;
};

TAILQ_HEAD(watch_list, pathwatch);

struct watcher {
	struct event_base	*base;
	void			(*on_change)(void *, uint64_t);
	void			*arg;
	int			 fd;		/* inotify, or -1 */
	struct io		 ev;
	struct timer		 linger;	/* without watches */
	unsigned		 nwatches;
	unsigned		 npoints;
	struct watch_list	 watches;	/* active */
	struct watch_list	 changed;	/* to be reported */
	struct map		 places;	/* by wd */
};

/* A path being resolved. */
struct walk {
	struct pathwatch	*pathwatch;
	int		 fd;
	bool		 is_folder;
	bool			 is_missing;	/* the last name */
	unsigned	 links;
	char		 rest[PATH_MAX];
};

/* --- the descriptor --- */

/*
 * A user may have few inotify instances (128 by default).  Leave the last ones
 * to the user's programs.
 */
static int
new_inotify(void)
{
	int	 spare[LIMIT_WATCH_SPARE], fd, n = 0;

	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (; fd != -1 && n < LIMIT_WATCH_SPARE; n++)
		if ((spare[n] = inotify_init1(IN_CLOEXEC)) == -1) {
			fd_close(&fd);
			break;
		}
	while (n > 0)
		fd_close(&spare[--n]);
	return fd;
}

static void
pathwatch_stop(struct watcher *r)
{
	io_stop(&r->ev);
	timer_stop(&r->linger);
	fd_close(&r->fd);
}

/* --- places and points --- */

static void
place_drop(struct watcher *r, struct place *p)
{
	assert(LIST_EMPTY(&p->points));
	map_del(&r->places, &p->node);
	/* EINVAL: the kernel has removed it. */
	inotify_rm_watch(r->fd, p->wd);
	free(p);
}

static void
point_free(struct watcher *r, struct point *t)
{
	assert(r->npoints > 0 && t->place != NULL);
	LIST_REMOVE(t, of_place);
	SLIST_REMOVE(&t->pathwatch->points, t, point, of_watch);
	r->npoints--;
	if (LIST_EMPTY(&t->place->points))
		place_drop(r, t->place);
	free(t);
}

/* File systems that change without inotify(7) events. */
static bool
is_silent(int fd)
{
	struct statfs	 f;

	if (fstatfs(fd, &f) == -1)
		return true;
	switch ((unsigned long)f.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* Watch the inode of an O_PATH descriptor; return its place, or NULL. */
static struct place *
place_of(struct watcher *r, int fd, bool is_folder)
{
	struct place	*p;
	char		 self[FD_SELF_MAX];
	int		 wd;

	assert(r->fd != -1);
	if (is_silent(fd)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if ((wd = inotify_add_watch(r->fd, fd_self(fd, self),
	    is_folder ? FOLDER_MASK : FILE_MASK)) == -1)
		return NULL;
	if ((p = map_find(&r->places, &wd, sizeof(wd))) != NULL)
		return p;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		goto fail;
	p->wd = wd;
	LIST_INIT(&p->points);
	if (map_add(&r->places, &p->node, &p->wd, sizeof(p->wd), p) == 0)
		return p;
 fail:
	free(p);
	inotify_rm_watch(r->fd, wd);
	errno = ENOMEM;
	return NULL;
}

static int
point_add(struct pathwatch *w, struct place *p, const char *name)
{
	struct watcher	*r = w->watcher;
	struct point	*t;
	size_t		 size = strlen(name) + 1;

	/* Paths of a watch share most of their parents. */
	LIST_FOREACH(t, &p->points, of_place)
		if (t->pathwatch == w && strcmp(t->name, name) == 0)
			return 0;
	if (r->npoints >= LIMIT_WATCH_POINTS) {
		errno = E2BIG;
		return -1;
	}
	if ((t = malloc(sizeof(*t) + size)) == NULL)
		return -1;
	t->pathwatch = w;
	t->place = p;
	memcpy(t->name, name, size);
	LIST_INSERT_HEAD(&p->points, t, of_place);
	SLIST_INSERT_HEAD(&w->points, t, of_watch);
	r->npoints++;
	return 0;
}

/* Watch a file or folder, and a name in the folder. */
static int
pathwatch_expect(struct pathwatch *w, int fd, bool is_folder, const char *name)
{
	struct place	*p;

	if ((p = place_of(w->watcher, fd, is_folder)) == NULL)
		return -1;
	if (point_add(w, p, name) == 0)
		return 0;
	if (LIST_EMPTY(&p->points))
		place_drop(w->watcher, p);
	return -1;
}

/* --- paths --- */

/* Go to a file; takes over fd. */
static void
walk_to(struct walk *k, int fd, const struct statx *x)
{
	fd_close(&k->fd);
	k->fd = fd;
	k->is_folder = S_ISDIR(x->stx_mode);
}

static int
walk_root(struct walk *k)
{
	static const struct lookup	 how = { .nonblock = true };
	struct statx			 x;
	int				 fd;

	if ((fd = lookup("/", &how, &x)) == -1)
		return -1;
	walk_to(k, fd, &x);
	return 0;
}

/* Put the target of a symlink in front of the rest. */
static int
walk_link(struct walk *k, int fd)
{
	char	 target[PATH_MAX];
	size_t	 len, rest = strlen(k->rest);
	ssize_t	 n;

	if (++k->links > LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	if ((n = readlinkat(fd, "", target, sizeof(target))) == -1)
		return -1;
	len = (size_t)n;
	if (len == 0 || len + 1 + rest >= sizeof(k->rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memmove(k->rest + len + 1, k->rest, rest + 1);
	memcpy(k->rest, target, len);
	k->rest[len] = '/';
	return target[0] == '/' ? walk_root(k) : 0;
}

/* Take the next name off the rest; false: no more. */
static bool
pathwatch_next_name(struct walk *k, char *name)
{
	size_t	 skip, len;

	skip = strspn(k->rest, "/");
	len = strcspn(k->rest + skip, "/");
	memcpy(name, k->rest + skip, len);
	name[len] = '\0';
	memmove(k->rest, k->rest + skip + len,
	    strlen(k->rest + skip + len) + 1);
	return len > 0;
}

/* Go to a name; if it does not exist, watch for it. */
static int
walk_step(struct walk *k, const char *name)
{
	static const struct lookup	 how = {
		.nonblock = true, .nofollow_last = true
	};
	struct statx			 x;
	int				 fd, r;

	if (!k->is_folder) {
		errno = ENOTDIR;
		return -1;
	}
	if (++k->pathwatch->steps > LIMIT_WATCH_STEPS) {
		errno = E2BIG;
		return -1;
	}
	/* First watch, then look: a change in between is reported. */
	if (pathwatch_expect(k->pathwatch, k->fd, true, name) == -1)
		return -1;
	if ((fd = lookup_at(k->fd, name, &how, &x)) == -1) {
		k->is_missing = errno == ENOENT;
		return -1;
	}
	if (!S_ISLNK(x.stx_mode)) {
		walk_to(k, fd, &x);
		return 0;
	}
	r = walk_link(k, fd);
	fd_close(&fd);
	return r;
}

/* Resolve a path as far as it exists, and watch each step. */
static int
walk_path(struct walk *k, struct pathwatch *w, const char *path)
{
	char	 name[PATH_MAX];

	k->pathwatch = w;
	k->fd = -1;
	k->is_missing = false;
	k->links = 0;
	if ((size_t)snprintf(k->rest, sizeof(k->rest), "%s", path) >=
	    sizeof(k->rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (walk_root(k) == -1)
		return -1;
	while (pathwatch_next_name(k, name))
		if (walk_step(k, name) == -1)
			return -1;
	return 0;
}

int
pathwatch_missing(struct pathwatch *w, const char *path)
{
	struct walk	 k;
	int		 r;

	r = walk_path(&k, w, path);
	fd_close(&k.fd);
	if (r == -1)
		return k.is_missing ? 0 : -1;
	errno = EEXIST;
	return -1;
}

int
pathwatch_present(struct pathwatch *w, const char *path)
{
	struct walk	 k;
	int		 r;

	if ((r = walk_path(&k, w, path)) == 0)
		r = pathwatch_expect(w, k.fd, k.is_folder, "");
	fd_close(&k.fd);
	return r;
}

/* --- changes --- */

static void
set_changed(struct pathwatch *w)
{
	if (w->changed)
		return;
	w->changed = true;
	TAILQ_REMOVE(&w->watcher->watches, w, entry);
	TAILQ_INSERT_TAIL(&w->watcher->changed, w, entry);
}

static void
set_all_changed(struct watcher *r)
{
	struct pathwatch	*w;

	while ((w = TAILQ_FIRST(&r->watches)) != NULL)
		set_changed(w);
}

static void
pathwatch_on_event(struct watcher *r, const struct inotify_event *e)
{
	struct place	*p;
	struct point	*t;

	if ((e->mask & IN_Q_OVERFLOW) != 0) {
		set_all_changed(r);
		return;
	}
	if ((p = map_find(&r->places, &e->wd, sizeof(e->wd))) == NULL)
		return;			/* of a removed watch */
	LIST_FOREACH(t, &p->points, of_place)
		if (e->len == 0 || strcmp(e->name, t->name) == 0)
			set_changed(t->pathwatch);
}

/* on_change may end the connection, and with it all watches. */
static void
pathwatch_notify(struct watcher *r)
{
	struct pathwatch	*w;
	uint64_t	 id;

	while ((w = TAILQ_FIRST(&r->changed)) != NULL) {
		assert(w->changed);
		id = w->id;
		pathwatch_free(&w);
		r->on_change(r->arg, id);
	}
}

static void
pathwatch_on_readable(void *arg)
{
	alignas(struct inotify_event) char	 buf[16384];
	const struct inotify_event		*e;
	struct watcher				*r = arg;
	char					*at;
	ssize_t					 n;

	assert(r->fd != -1);
	n = read(r->fd, buf, sizeof(buf));
	if (n == -1 && errno != EAGAIN && errno != EINTR) {
		log_warn("cannot read inotify events");
		set_all_changed(r);
	}
	for (at = buf; n > 0 && at < buf + n; at += sizeof(*e) + e->len) {
		e = (const struct inotify_event *)(void *)at;
		pathwatch_on_event(r, e);
	}
	pathwatch_notify(r);
}

/* --- all of them --- */

static void
on_linger(void *arg)
{
	struct watcher	*r = arg;

	assert(r->nwatches == 0 && r->npoints == 0);
	pathwatch_stop(r);
}

static int
pathwatch_start(struct watcher *r)
{
	timer_stop(&r->linger);
	if (r->fd != -1)
		return 0;
	if ((r->fd = new_inotify()) == -1)
		return -1;
	timer_init(&r->linger, r->base, on_linger, r);
	io_init(&r->ev, r->base, r->fd, EV_READ | EV_PERSIST,
	    pathwatch_on_readable, r);
	if (io_start(&r->ev) == 0)
		return 0;
	pathwatch_stop(r);
	errno = ENOMEM;
	return -1;
}

struct pathwatch *
pathwatch_new(struct watcher *r, uint64_t id)
{
	struct pathwatch	*w;

	assert(r->nwatches == 0 || r->fd != -1);
	TAILQ_FOREACH(w, &r->watches, entry)
		if (w->id == id) {
			errno = EEXIST;
			return NULL;
		}
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	if (pathwatch_start(r) == -1) {
		free(w);
		return NULL;
	}
	/* Clients of the reference forget watches silently. */
	if (r->nwatches >= LIMIT_WATCHES && !TAILQ_EMPTY(&r->watches)) {
		set_changed(TAILQ_FIRST(&r->watches));
		io_fire(&r->ev);
	}
	w->watcher = r;
	w->id = id;
	SLIST_INIT(&w->points);
	TAILQ_INSERT_TAIL(&r->watches, w, entry);
	r->nwatches++;
	return w;
}

/*
 * Keep the descriptor for a while: clients watch again after a change, and
 * closing an inotify instance is slow.
 */
void
pathwatch_free(struct pathwatch **wp)
{
	struct pathwatch	*w = *wp;
	struct watcher	*r;
	struct point	*t;

	*wp = NULL;
	if (w == NULL)
		return;
	r = w->watcher;
	assert(r->nwatches > 0);
	while ((t = SLIST_FIRST(&w->points)) != NULL)
		point_free(r, t);
	TAILQ_REMOVE(w->changed ? &r->changed : &r->watches, w, entry);
	free(w);
	if (--r->nwatches == 0)
		timer_set(&r->linger, LIMIT_WATCH_LINGER);
}

struct watcher *
pathwatcher_new(struct event_base *base, void (*on_change)(void *, uint64_t),
    void *arg)
{
	struct watcher	*r;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	r->base = base;
	r->on_change = on_change;
	r->arg = arg;
	r->fd = -1;
	TAILQ_INIT(&r->watches);
	TAILQ_INIT(&r->changed);
	map_init(&r->places);
	return r;
}

void
pathwatcher_clear(struct watcher *r)
{
	struct pathwatch	*w;

	if (r == NULL)
		return;
	set_all_changed(r);
	while ((w = TAILQ_FIRST(&r->changed)) != NULL)
		pathwatch_free(&w);
	pathwatch_stop(r);
}

void
pathwatcher_free(struct watcher **rp)
{
	struct watcher	*r = *rp;

	*rp = NULL;
	if (r == NULL)
		return;
	pathwatcher_clear(r);
	assert(r->nwatches == 0 && r->places.count == 0);
	map_fini(&r->places);
	free(r);
}
