#include "master/workers/cgroups.h"

#include <sys/queue.h>
#include <sys/stat.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/linux/cgfs.h"
#include "common/log.h"

#define PREFIX		"execsrv-"
#define MAIN		"main"		/* for the master, see turn_on() */
#define AGAIN_MS	5	/* between attempts to remove */
#define TURN_MAX	32	/* removed in one turn of the loop */
#define ALL_MAX		(1u << 20)
#define LAST_MS		200	/* to wait for killed processes at exit */
#define FREE_MAX	64	/* kept for reuse */
#define KEPT_STEP	64
#define SHARES		1024	/* cpu.shares of version 1 for weight 100 */

static const struct {
	const char		*controller;
	Ipc__Controller		 kind;
	const char		*v1, *v2;	/* files */
	const char		*word;
	const char		*rlimit;
	size_t			 conf_row;
} rows[CGROUP_LIMITS] = {
#define CGROUP(controller, kind, setting, v1, v2, word, rlimit)		\
	{ #controller, IPC__CONTROLLER__##kind, v1, v2, word, rlimit,	\
	    CONF_ROW_##setting },
#include "proto/cgroup.def"
#undef CGROUP
};

/* A group of our own, in the one we were started in. */
struct own {
	char			 path[PATH_MAX];
	size_t			 parent_len;	/* of the parent's path */
	int			 parent, dir;	/* dir is locked; -1: none */
	bool			 is_former;	/* a former master's */
};

/* A group of an exited worker, to be removed. */
struct left {
	TAILQ_ENTRY(left)	 entry;
	struct own		*own;
	char			 name[16];
	uint64_t		 until;		/* ms */
};

enum by { BY_NONE, BY_V1, BY_V2 };

struct cgroups {
	struct own		 v2;
	bool			 has_moved;	/* we are in MAIN */
	struct {
		enum by		 by;
		bool		 was_on;	/* in v2.parent, before us */
		struct own	 v1;
	}			 limit[CGROUP_LIMITS];
	unsigned		 last;		/* highest number */
	unsigned		 free[FREE_MAX];
	size_t			 nfree;
	TAILQ_HEAD(, left)	 left;
	struct cgroups_worker	*kept;		/* of a former master */
	size_t			 nkept;
	bool			 leaves;	/* all of them as they are */
	struct timer		 reap_ev;
};

static void	 on_reap(void *);

/* --- our own groups --- */

static const char *
own_name(const struct own *o)
{
	return o->path + o->parent_len + 1;
}

/*
 * Make our own group, and lock it.  The lock marks it as in use: the next
 * execsrvd removes those of dead ones.
 */
static int
own_claim(struct own *o)
{
	size_t	 room = sizeof(o->path) - o->parent_len;

	assert(o->parent != -1 && o->dir == -1);
	if (room < 2) {
		errno = ENAMETOOLONG;
		return -1;
	}
	o->path[o->parent_len] = '/';
	o->dir = cgfs_claim(o->parent, PREFIX, o->path + o->parent_len + 1,
	    room - 1);
	return o->dir == -1 ? -1 : 0;
}

/* Take over the group of a master that was killed: 0, or -1. */
static int
own_take_over(struct own *o, const char *former)
{
	size_t	 room = sizeof(o->path) - o->parent_len;
	int	 n;

	if (former == NULL || former[0] == '\0')
		return -1;
	n = snprintf(o->path + o->parent_len, room, "/%s", former);
	if (n < 0 || (size_t)n >= room ||
	    (o->dir = cgfs_claim_former(o->parent, former)) == -1)
		return -1;
	o->is_former = true;
	return 0;
}

/* If we were started in the group of a former master: out of it. */
static void
leave_former(char *path, const char *former)
{
	char	 tail[NAME_MAX + 16];
	size_t	 len = strlen(path), n;

	if (former == NULL || former[0] == '\0')
		return;
	n = (size_t)snprintf(tail, sizeof(tail), "/%s/" MAIN, former);
	if (n < len && strcmp(path + len - n, tail) == 0)
		path[len - n] = '\0';
}

/*
 * Find the group that we are in (controller: of version 1; NULL: version 2) and
 * make our own in it, where the named file must be writable.
 */
static int
own_open(struct own *o, const char *controller, const char *file,
    const char *former)
{
	if (cgfs_own(controller, o->path, sizeof(o->path)) == -1)
		return -1;
	leave_former(o->path, former);
	if ((o->parent = open(o->path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return -1;
	o->parent_len = strlen(o->path);
	if (own_take_over(o, former) == 0)
		return 0;
	cgfs_remove_stale(o->parent, PREFIX);
	/* Without this, version 2 lets us move no process to a child group. */
	if (controller == NULL &&
	    faccessat(o->parent, "cgroup.procs", W_OK, AT_EACCESS) == -1)
		return -1;
	if (own_claim(o) == -1)
		return -1;
	if (faccessat(o->dir, file, W_OK, AT_EACCESS) == 0)
		return 0;
	fd_close(&o->dir);
	unlinkat(o->parent, own_name(o), AT_REMOVEDIR);
	return -1;
}

static void
own_remove(struct own *o)
{
	uint64_t	 until = clock_ms() + LAST_MS;
	unsigned	 budget;

	assert(o->parent != -1 && o->dir != -1);
	for (;;) {
		budget = ALL_MAX;
		if (cgfs_remove(o->parent, own_name(o), &budget) == 0)
			return;
		if (errno != EBUSY || clock_ms() >= until)
			break;
		/*
		 * No worker is left, so the processes in there are orphans.
		 * Version 1 has no cgroup.kill: there the reaper killed them.
		 */
		cgfs_kill(o->parent, own_name(o));
		usleep(AGAIN_MS * 1000);
	}
	log_debug("control group %s: %s", o->path, strerror(errno));
}

static void
own_close(struct own *o, bool is_left)
{
	if (o->dir != -1 && !is_left)
		own_remove(o);
	fd_close(&o->dir);
	fd_close(&o->parent);
}

/* Make our own group again if it was removed by another process. */
static void
own_restore(struct own *o, const char *word)
{
	if (o->dir != -1 && cgfs_is_there(o->parent, own_name(o), o->dir))
		return;
	fd_close(&o->dir);
	if (own_claim(o) == 0)
		log_warnx("our control group for %s was removed; a new one is "
		    "made", word);
	else
		log_warn("our control group for %s was removed", word);
}

/* --- controllers of version 2 --- */

/* Whether a controller is listed in a file of the group at dir. */
static bool
is_listed(int dir, const char *file, const char *controller)
{
	char	 text[512], *word, *save;

	if (fd_read_file(dir, file, text, sizeof(text)) == -1)
		return false;
	for (word = strtok_r(text, " \n", &save); word != NULL;
	    word = strtok_r(NULL, " \n", &save))
		if (strcmp(word, controller) == 0)
			return true;
	return false;
}

static int
turn(int dir, char sign, const char *controller)
{
	char	 text[64];

	snprintf(text, sizeof(text), "%c%s", sign, controller);
	return cgfs_write(dir, "cgroup.subtree_control", text);
}

/* Disable our controllers: in our group; above it those that are ours. */
static void
turn_off_controllers(struct cgroups *g, bool all_are_ours)
{
	const char	*name;
	int		 i;

	for (i = 0; i < CGROUP_LIMITS; i++) {
		name = rows[i].controller;
		if (g->limit[i].by == BY_V2 &&
		    (turn(g->v2.dir, '-', name) == -1 ||
		    ((all_are_ours || !g->limit[i].was_on) &&
		    turn(g->v2.parent, '-', name) == -1)))
			log_debug("controller %s: %s", name, strerror(errno));
	}
}

static int
move_up(const struct cgroups *g)
{
	return cgfs_write(g->v2.parent, "cgroup.procs", "0");
}

/*
 * Undo what turn_on() did.  Where controllers are enabled for children no
 * process may be, so if we may not go back to where we came from, it was the
 * daemon before us, whose group we took over, that enabled them.
 */
static void
turn_off(struct cgroups *g)
{
	int	 moved = 0;

	assert(g->v2.dir != -1);
	turn_off_controllers(g, false);
	if (!g->has_moved)
		return;
	if ((moved = move_up(g)) == -1 && errno == EBUSY) {
		turn_off_controllers(g, true);
		moved = move_up(g);
	}
	if (moved == -1 || unlinkat(g->v2.dir, MAIN, AT_REMOVEDIR) == -1)
		log_debug("control group %s: %s", MAIN, strerror(errno));
	g->has_moved = moved == -1;
}

static bool
turn_on_one(struct cgroups *g, int i)
{
	const char	*name = rows[i].controller;

	g->limit[i].was_on = is_listed(g->v2.parent, "cgroup.subtree_control",
	    name);
	if (!is_listed(g->v2.parent, "cgroup.controllers", name) ||
	    turn(g->v2.parent, '+', name) == -1)
		return false;
	if (turn(g->v2.dir, '+', name) == 0) {
		g->limit[i].by = BY_V2;
		return true;
	}
	if (!g->limit[i].was_on)
		turn(g->v2.parent, '-', name);
	return false;
}

/*
 * Enable controllers for the groups of workers.  A group can enable them for
 * its children only while it has no processes itself (cgroups(7), "no internal
 * processes" rule): so move to a group of our own, MAIN.  While other processes
 * are in the group, enabling fails.
 */
static void
turn_on(struct cgroups *g)
{
	bool	 is_any = false;
	int	 i;

	assert(g->v2.dir != -1 && !g->has_moved);
	for (i = 0; i < CGROUP_LIMITS; i++)
		is_any |= is_listed(g->v2.parent, "cgroup.controllers",
		    rows[i].controller);
	if (!is_any || (mkdirat(g->v2.dir, MAIN, 0755) == -1 &&
	    errno != EEXIST))
		return;
	if (cgfs_write(g->v2.dir, MAIN "/cgroup.procs", "0") == -1) {
		unlinkat(g->v2.dir, MAIN, AT_REMOVEDIR);
		return;
	}
	g->has_moved = true;
	is_any = false;
	for (i = 0; i < CGROUP_LIMITS; i++)
		is_any |= turn_on_one(g, i);
	if (!is_any)
		turn_off(g);
}

struct cgroups *
cgroups_new(struct event_base *base, const struct conf *c,
    const struct cgroups_names *former)
{
	struct cgroups	*g;
	int		 i;

	if ((g = calloc(1, sizeof(*g))) == NULL)
		return NULL;
	TAILQ_INIT(&g->left);
	timer_init(&g->reap_ev, base, on_reap, g);
	g->v2.parent = g->v2.dir = -1;
	for (i = 0; i < CGROUP_LIMITS; i++)
		g->limit[i].v1.parent = g->limit[i].v1.dir = -1;
	if (c->process_cgroup == CONF_CGROUP_NO)
		return g;
	if (own_open(&g->v2, NULL, "cgroup.kill", former == NULL ? NULL :
	    former->name[0]) == 0) {
		log_debug("control groups: %s", g->v2.path);
		turn_on(g);
	} else {
		log_debug("no control groups: %s", strerror(errno));
	}
	for (i = 0; i < CGROUP_LIMITS; i++)
		if (g->limit[i].by == BY_NONE && own_open(&g->limit[i].v1,
		    rows[i].controller, rows[i].v1, former == NULL ? NULL :
		    former->name[1 + i]) == 0)
			g->limit[i].by = BY_V1;
	return g;
}

void
cgroups_leave(struct cgroups *g)
{
	g->leaves = true;
}

void
cgroups_free(struct cgroups **gp)
{
	struct cgroups	*g = *gp;
	struct left	*l;
	int		 i;

	*gp = NULL;
	if (g == NULL)
		return;
	if (g->v2.dir != -1 && !g->leaves)
		turn_off(g);
	/* It is not removed, thus not killed, with ourselves in it. */
	own_close(&g->v2, g->leaves || g->has_moved);
	for (i = 0; i < CGROUP_LIMITS; i++)
		own_close(&g->limit[i].v1, g->leaves);
	while ((l = TAILQ_FIRST(&g->left)) != NULL) {
		TAILQ_REMOVE(&g->left, l, entry);
		free(l);
	}
	timer_stop(&g->reap_ev);
	free(g->kept);
	free(g);
}

static void
own_print(const struct own *o, char *out, size_t size)
{
	const char	*name = o->dir == -1 ? "" : own_name(o);

	/* Without its name the next master makes another group. */
	snprintf(out, size, "%s", strlen(name) < size ? name : "");
}

void
cgroups_names(const struct cgroups *g, struct cgroups_names *out)
{
	int	 i;

	own_print(&g->v2, out->name[0], sizeof(out->name[0]));
	for (i = 0; i < CGROUP_LIMITS; i++)
		own_print(&g->limit[i].v1, out->name[1 + i],
		    sizeof(out->name[1 + i]));
}

const char *
cgroups_path(const struct cgroups *g)
{
	return g->v2.dir == -1 ? "" : g->v2.path;
}

/* --- which limits are enforced --- */

static uint64_t
value_of(const struct conf *c, int i)
{
	switch (i) {
#define CGROUP(controller, kind, setting, v1, v2, word, rlimit)		\
	case CGROUP_##controller:					\
		return c->setting;
#include "proto/cgroup.def"
#undef CGROUP
	}
	return 0;
}

static const char *
enforcer(const struct cgroups *g, int i)
{
	return g->limit[i].by == BY_V1 ? "cgroup v1" :
	    g->limit[i].by == BY_V2 ? "cgroup v2" : rows[i].rlimit;
}

void
cgroups_print(const struct cgroups *g, char *out, size_t size)
{
	size_t	 len = 0;
	int	 i;

	snprintf(out, size, "none");
	for (i = 0; i < CGROUP_LIMITS && len < size; i++)
		if (enforcer(g, i)[0] != '\0')
			len += (size_t)snprintf(out + len, size - len,
			    "%s%s by %s", len > 0 ? ", " : "", rows[i].word,
			    enforcer(g, i));
}

/* Whether a limit is set, globally or in a Match block. */
static bool
is_asked_for(const struct conf *c, int i)
{
	size_t	 k, n;

	for (k = 0; k < c->nmatch; k++)
		for (n = 0; n < c->match[k].nvalue; n++)
			if (c->match[k].value[n].row == rows[i].conf_row &&
			    strcmp(c->match[k].value[n].text, "0") != 0)
				return true;
	return value_of(c, i) != 0;
}

void
cgroups_warn(const struct cgroups *g, const struct conf *c)
{
	int	 i;

	for (i = 0; i < CGROUP_LIMITS; i++)
		if (g->limit[i].by == BY_NONE && is_asked_for(c, i))
			log_warnx("%s cannot be enforced%s%s: no control group "
			    "with the controller \"%s\" is ours",
			    rows[i].word, rows[i].rlimit[0] != '\0' ?
			    " except by " : "", rows[i].rlimit,
			    rows[i].controller);
}

/* Print a limit.  0 needs a value as well: a reused group has an old one. */
static void
print_value(const struct cgroups *g, int i, uint64_t n, char out[24])
{
	bool	 is_weight = i == CGROUP_cpu;

	if (n == 0)
		strcpy(out, is_weight ? "100" : "max");
	else
		snprintf(out, 24, "%llu", (unsigned long long)(is_weight &&
		    g->limit[i].by == BY_V1 ? n * SHARES / 100 : n));
}

/*
 * The worker sets the limits before it drops privileges (worker/os/scgroup.h).
 */
void
cgroups_limit(struct cgroups *g, const struct conf *c, unsigned id,
    struct cgroups_worker *w, struct cgroups_limits *out)
{
	Ipc__CgroupLimit	*l;
	bool			 is_v1;
	int			 i;

	assert(id > 0 && w->v1 == 0);
	out->n = 0;
	out->as_max = g->limit[CGROUP_memory].by == BY_NONE ?
	    c->memory_max : 0;
	out->tasks_max = g->limit[CGROUP_pids].by == BY_NONE ?
	    c->tasks_max : 0;
	for (i = 0; i < CGROUP_LIMITS; i++) {
		is_v1 = g->limit[i].by == BY_V1;
		w->limit[i] = g->limit[i].by == BY_V2 ? value_of(c, i) : 0;
		if (g->limit[i].by == BY_NONE || (is_v1 && value_of(c, i) ==
		    0))
			continue;
		if (is_v1)
			own_restore(&g->limit[i].v1, rows[i].word);
		l = &out->limit[out->n];
		ipc__cgroup_limit__init(l);
		out->dir[i][0] = '\0';
		if (is_v1) {
			w->v1 = id;
			snprintf(out->dir[i], sizeof(out->dir[i]), "%s/s%u",
			    g->limit[i].v1.path, id);
		}
		print_value(g, i, value_of(c, i), out->value[i]);
		l->controller = rows[i].kind;
		l->dir = out->dir[i];
		l->file = (char *)(uintptr_t)(is_v1 ? rows[i].v1 : rows[i].v2);
		l->value = out->value[i];
		out->list[out->n++] = l;
	}
}

/* --- workers --- */

static void
v2_name(unsigned number, char name[16])
{
	snprintf(name, 16, "w%u", number);
}

/* --- those of a former master --- */

/*
 * Set a limit of a worker's group again.  0, or -1 with errno.  TasksMax is in
 * a group below (worker/os/scgroup.h).
 */
static int
limit_one_again(const struct cgroups *g, int dir, int i, uint64_t n)
{
	char	 value[24];
	int	 counted, r;

	print_value(g, i, n, value);
	if (i != CGROUP_pids)
		return cgfs_write(dir, rows[i].v2, value);
	if (turn(dir, '+', rows[i].controller) == -1 ||
	    (counted = openat(dir, CGFS_COUNTED, O_PATH | O_DIRECTORY |
	    O_CLOEXEC | O_NOFOLLOW)) == -1)
		return -1;
	r = cgfs_write(counted, rows[i].v2, value);
	fd_close(&counted);
	return r;
}

/*
 * Whoever started us had to lift limits of version 2 if it put us where
 * processes may not be beside them (the unit of systemd does so).
 */
static void
limit_again(const struct cgroups *g, const struct cgroups_worker *w)
{
	char	 name[16];
	int	 i, dir;

	v2_name(w->v2, name);
	for (i = 0; i < CGROUP_LIMITS; i++) {
		if (w->limit[i] == 0)
			continue;
		dir = openat(g->v2.dir, name, O_PATH | O_DIRECTORY |
		    O_CLOEXEC | O_NOFOLLOW);
		if (dir == -1 || limit_one_again(g, dir, i, w->limit[i]) == -1)
			log_warn("control group %s/%s: %s cannot be set again",
			    g->v2.path, name, rows[i].word);
		fd_close(&dir);
	}
}

void
cgroups_keep(struct cgroups *g, struct cgroups_worker *w)
{
	struct cgroups_worker	*list;
	bool			 has_v1 = false;
	int			 i;

	for (i = 0; i < CGROUP_LIMITS; i++)
		has_v1 |= g->limit[i].v1.is_former;
	if (!has_v1)
		w->v1 = 0;
	if (!g->v2.is_former)
		w->v2 = 0;
	if (w->v2 > g->last)
		g->last = w->v2;
	if (w->v2 != 0)
		limit_again(g, w);
	if (g->nkept % KEPT_STEP == 0) {
		list = reallocarray(g->kept, g->nkept + KEPT_STEP,
		    sizeof(*list));
		if (list == NULL)
			fatal("control groups of a former master");
		g->kept = list;
	}
	g->kept[g->nkept++] = *w;
}

/* --- new ones --- */

void
cgroups_take(struct cgroups *g, struct cgroups_worker *w)
{
	assert(w->v2 == 0 && w->v1 == 0);
	if (g->v2.dir != -1)
		w->v2 = g->nfree > 0 ? g->free[--g->nfree] : ++g->last;
}

/*
 * Take a group back for reuse, if it has no processes and no child groups.
 * Reuse, since making and removing a group for each session is slow.
 */
static bool
reclaim(const struct cgroups *g, const char *name)
{
	struct stat	 st;
	bool		 ok;
	int		 dir;

	if ((dir = openat(g->v2.dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1)
		return false;
	ok = cgfs_is_empty(dir, ".") && fstat(dir, &st) == 0;
	if (ok && st.st_uid != geteuid())
		ok = fchownat(dir, "", geteuid(), (gid_t)-1,
		    AT_EMPTY_PATH) == 0 && fchownat(dir, "cgroup.procs",
		    geteuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW) == 0 &&
		    fstat(dir, &st) == 0;
	/* After chown, when nobody can add child groups: 2 links, no child. */
	ok = ok && st.st_nlink == 2;
	close(dir);
	return ok;
}

/* Try to remove a group; false: try again later. */
static bool
reap(const struct left *l, unsigned *budget)
{
	/* own_restore() failed: our own group was removed, thus empty. */
	if (l->own->dir == -1 ||
	    cgfs_remove(l->own->dir, l->name, budget) == 0)
		return true;
	if (errno == EAGAIN)
		return false;
	if (errno != EBUSY || clock_ms() > l->until) {
		log_warn("control group %s/%s", l->own->path, l->name);
		return true;
	}
	/* No effect in version 1: there the reaper kills orphans. */
	cgfs_kill(l->own->dir, l->name);
	return false;
}

static void
on_reap(void *arg)
{
	struct cgroups	*g = arg;
	struct left	*l, *next;
	unsigned	 budget = TURN_MAX;

	for (l = TAILQ_FIRST(&g->left); l != NULL && budget > 0; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (reap(l, &budget)) {
			TAILQ_REMOVE(&g->left, l, entry);
			free(l);
		}
	}
	if (!TAILQ_EMPTY(&g->left))
		timer_set(&g->reap_ev, AGAIN_MS);
}

/* Remove a worker's group, now or as soon as it is empty. */
static void
retire(struct cgroups *g, struct own *o, const char *name)
{
	struct left	 now = { .own = o }, *l;
	unsigned	 budget = TURN_MAX;

	snprintf(now.name, sizeof(now.name), "%s", name);
	now.until = clock_ms() + LIMIT_ORPHANS;
	if (reap(&now, &budget))
		return;
	/* Out of memory: cgroups_free() removes it. */
	if ((l = malloc(sizeof(*l))) == NULL)
		return;
	*l = now;
	TAILQ_INSERT_TAIL(&g->left, l, entry);
	timer_ensure(&g->reap_ev, AGAIN_MS);
}

static bool
cgroups_is_kept(const struct cgroups *g, bool is_v2, unsigned n)
{
	size_t	 i;

	for (i = 0; i < g->nkept; i++)
		if ((is_v2 ? g->kept[i].v2 : g->kept[i].v1) == n)
			return true;
	return false;
}

static void
own_sweep(struct cgroups *g, struct own *o)
{
	bool		 is_v2 = o == &g->v2;
	struct dirent	*e;
	unsigned	 n;
	char		*end;
	DIR		*d;
	int		 fd;

	if (!o->is_former || (fd = openat(o->dir, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != (is_v2 ? 'w' : 's'))
			continue;
		n = (unsigned)strtoul(e->d_name + 1, &end, 10);
		if (*end != '\0' || n == 0)
			continue;
		/* A new worker must not get a group that is being killed. */
		if (n > g->last)
			g->last = n;
		if (!cgroups_is_kept(g, is_v2, n))
			retire(g, o, e->d_name);
	}
	closedir(d);
}

unsigned
cgroups_sweep(struct cgroups *g)
{
	int	 i;

	own_sweep(g, &g->v2);
	for (i = 0; i < CGROUP_LIMITS; i++)
		own_sweep(g, &g->limit[i].v1);
	free(g->kept);
	g->kept = NULL;
	g->nkept = 0;
	return g->last;
}

void
cgroups_give_back(struct cgroups *g, struct cgroups_worker *w)
{
	char	 name[16];
	int	 i;

	if (g->leaves)
		return;
	if (w->v2 != 0) {
		assert(g->v2.dir != -1 && w->v2 <= g->last);
		v2_name(w->v2, name);
		assert(g->nfree <= FREE_MAX);
		if (g->nfree < FREE_MAX && reclaim(g, name))
			g->free[g->nfree++] = w->v2;
		else
			retire(g, &g->v2, name);
	}
	snprintf(name, sizeof(name), "s%u", w->v1);
	for (i = 0; w->v1 != 0 && i < CGROUP_LIMITS; i++)
		if (g->limit[i].by == BY_V1)
			retire(g, &g->limit[i].v1, name);
	w->v2 = w->v1 = 0;
}
