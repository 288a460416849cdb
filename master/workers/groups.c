#include "master/workers/groups.h"

#include <sys/stat.h>

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
#define MAIN		"main"		/* where we live, if we must */
#define AGAIN_MS	5	/* between two tries to remove */
#define TURN_MAX	32	/* removed in one turn of the loop */
#define ALL_MAX		(1u << 20)
#define LAST_MS		200	/* for the killed to vanish at our end */
#define FREE_MAX	64	/* kept for the next workers */

/* The group of a worker that is gone. */
struct left {
	TAILQ_ENTRY(left)	 entry;
	unsigned		 number;
	uint64_t		 until;		/* ms */
};

/* The controllers that limit sessions: master/workers/fence.h. */
static const char *const	 controllers[] = {
#define FENCE(controller, setting, v1, v2, word, rlimit)	#controller,
#include "proto/fence.def"
#undef FENCE
};

#define CONTROLLERS	(sizeof(controllers) / sizeof(controllers[0]))

struct groups {
	bool			 is_on[CONTROLLERS];
	bool			 was_on[CONTROLLERS];	/* not by us */
	bool			 has_moved;	/* we live in MAIN */
	char			 path[PATH_MAX];
	int			 parent, dir;	/* dir is locked */
	const char		*name;		/* in the parent */
	unsigned		 last;		/* number given */
	unsigned		 free[FREE_MAX];
	size_t			 nfree;
	TAILQ_HEAD(, left)	 left;
	struct timer		 ev;
};

/* --- ours --- */

/* A new directory, locked. */
static int
groups_make_dir(struct groups *g)
{
	char	*end = g->path + strlen(g->path);
	size_t	 room = sizeof(g->path) - strlen(g->path);

	if (room < 2) {
		errno = ENAMETOOLONG;
		return -1;
	}
	*end = '/';
	g->name = end + 1;
	if ((g->dir = cgfs_claim(g->parent, PREFIX, end + 1, room - 1)) == -1)
		return -1;
	if (faccessat(g->dir, "cgroup.kill", W_OK, AT_EACCESS) == -1) {
		fd_close(&g->dir);
		unlinkat(g->parent, g->name, AT_REMOVEDIR);
		return -1;
	}
	return 0;
}

/* Whether a controller is in a list of the group at dir. */
static bool
groups_is_listed(int dir, const char *file, const char *controller)
{
	char	 text[512], *word, *save;
	ssize_t	 n = -1;
	int	 fd;

	if ((fd = openat(dir, file, O_RDONLY | O_CLOEXEC)) != -1) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	for (word = strtok_r(text, " \n", &save); word != NULL;
	    word = strtok_r(NULL, " \n", &save))
		if (strcmp(word, controller) == 0)
			return true;
	return false;
}

/* Whether it can be given to groups below that of dir. */
static bool
is_offered(int dir, const char *controller)
{
	return groups_is_listed(dir, "cgroup.controllers", controller);
}

static int
groups_turn(int dir, char sign, const char *controller)
{
	char	 text[64];

	snprintf(text, sizeof(text), "%c%s", sign, controller);
	return cgfs_write(dir, "cgroup.subtree_control", text);
}

/* What others have turned on is theirs. */
static void
turn_off(struct groups *g)
{
	size_t	 i;

	for (i = 0; i < CONTROLLERS; i++)
		if (g->is_on[i] && (groups_turn(g->dir, '-', controllers[i]) ==
		    -1 || (!g->was_on[i] &&
		    groups_turn(g->parent, '-', controllers[i]) == -1)))
			log_debug("controller %s: %s", controllers[i],
			    strerror(errno));
	memset(g->is_on, 0, sizeof(g->is_on));
	if (g->has_moved && (cgfs_write(g->parent, "cgroup.procs", "0") ==
	    -1 || unlinkat(g->dir, MAIN, AT_REMOVEDIR) == -1))
		log_debug("control group %s: %s", MAIN, strerror(errno));
	g->has_moved = false;
}

/*
 * Controllers for the groups of workers.  A group gives them to others only
 * while nobody is in it (cgroups(7), no internal processes): so we leave ours
 * for one beside the workers'.  Where somebody else is in it there are none.
 */
static void
turn_on(struct groups *g)
{
	bool	 is_any = false;
	size_t	 i;

	for (i = 0; i < CONTROLLERS; i++)
		is_any |= is_offered(g->parent, controllers[i]);
	if (!is_any || mkdirat(g->dir, MAIN, 0755) == -1)
		return;
	if (cgfs_write(g->dir, MAIN "/cgroup.procs", "0") == -1) {
		unlinkat(g->dir, MAIN, AT_REMOVEDIR);
		return;
	}
	g->has_moved = true;
	is_any = false;
	for (i = 0; i < CONTROLLERS; i++) {
		g->was_on[i] = groups_is_listed(g->parent,
		    "cgroup.subtree_control", controllers[i]);
		if (!is_offered(g->parent, controllers[i]) ||
		    groups_turn(g->parent, '+', controllers[i]) == -1)
			continue;
		g->is_on[i] = groups_turn(g->dir, '+', controllers[i]) == 0;
		if (!g->is_on[i] && !g->was_on[i])
			groups_turn(g->parent, '-', controllers[i]);
		is_any |= g->is_on[i];
	}
	if (!is_any)
		turn_off(g);
}

bool
groups_has(const struct groups *g, const char *controller)
{
	size_t	 i;

	for (i = 0; g != NULL && i < CONTROLLERS; i++)
		if (strcmp(controllers[i], controller) == 0)
			return g->is_on[i];
	return false;
}

static void	 groups_on_timer(void *);

static int
groups_start(struct groups *g, struct master *m)
{
	if (cgfs_own(g->path, sizeof(g->path)) == -1 ||
	    (g->parent = open(g->path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return -1;
	cgfs_remove_stale(g->parent, PREFIX);
	/* Also in a group that is ours nobody may be put without this. */
	if (faccessat(g->parent, "cgroup.procs", W_OK, AT_EACCESS) == -1)
		return -1;
	timer_init(&g->ev, m->base, groups_on_timer, g);
	if (groups_make_dir(g) == -1)
		return -1;
	turn_on(g);
	return 0;
}

struct groups *
groups_new(struct master *m)
{
	struct groups	*g;

	if (m->conf.process_cgroup == CONF_CGROUP_NO ||
	    (g = calloc(1, sizeof(*g))) == NULL)
		return NULL;
	g->parent = g->dir = -1;
	TAILQ_INIT(&g->left);
	if (groups_start(g, m) == -1) {
		log_debug("no control groups: %s", strerror(errno));
		groups_free(&g);
		return NULL;
	}
	log_debug("control groups: %s", g->path);
	return g;
}

static void
groups_remove_ours(struct groups *g)
{
	uint64_t	 until = clock_ms() + LAST_MS;
	unsigned	 budget;

	for (;;) {
		budget = ALL_MAX;
		if (cgfs_remove(g->parent, g->name, &budget) == 0)
			return;
		if (errno != EBUSY || clock_ms() >= until)
			break;
		/* No worker is left: whoever is in there was theirs. */
		cgfs_kill(g->parent, g->name);
		usleep(AGAIN_MS * 1000);
	}
	log_debug("control group %s: %s", g->name, strerror(errno));
}

void
groups_free(struct groups **gp)
{
	struct groups	*g = *gp;
	struct left	*l;

	*gp = NULL;
	if (g == NULL)
		return;
	if (g->dir != -1) {
		turn_off(g);
		groups_remove_ours(g);
	}
	while ((l = TAILQ_FIRST(&g->left)) != NULL) {
		TAILQ_REMOVE(&g->left, l, entry);
		free(l);
	}
	timer_stop(&g->ev);
	fd_close(&g->dir);
	fd_close(&g->parent);
	free(g);
}

const char *
groups_path(const struct groups *g)
{
	return g == NULL ? "" : g->path;
}

/* --- workers --- */

unsigned
groups_take(struct groups *g)
{
	if (g == NULL)
		return 0;
	return g->nfree > 0 ? g->free[--g->nfree] : ++g->last;
}

static void
groups_name_of(unsigned number, char name[16])
{
	snprintf(name, 16, "w%u", number);
}

/* Whether "populated 0" is in its cgroup.events. */
static bool
groups_is_empty(int dir)
{
	char	 text[128], *at;
	ssize_t	 n;
	int	 fd;

	if ((fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return (at = strstr(text, "populated ")) != NULL && at[10] == '0';
}

/*
 * Whether it can be another worker's: nobody is in it, nothing below it, and
 * it is ours again.  To make and remove one for each session halves the number
 * of sessions in a second.
 */
static bool
reclaim(const struct groups *g, const char *name)
{
	struct stat	 st;
	bool		 ok;
	int		 dir;

	if ((dir = openat(g->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1)
		return false;
	ok = fstat(dir, &st) == 0 && groups_is_empty(dir);
	if (ok && st.st_uid != geteuid())
		ok = fchownat(dir, "", geteuid(), (gid_t)-1,
		    AT_EMPTY_PATH) == 0 && fchownat(dir, "cgroup.procs",
		    geteuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW) == 0;
	/* Now that nobody else can: two links, of its name and its dot. */
	ok = ok && fstat(dir, &st) == 0 && st.st_nlink == 2;
	close(dir);
	return ok;
}

/* Whether it is settled: gone, or nothing can be done. */
static bool
groups_settle(struct groups *g, const struct left *l, unsigned *budget)
{
	char	 name[16];

	groups_name_of(l->number, name);
	if (cgfs_remove(g->dir, name, budget) == 0)
		return true;
	if (errno == EAGAIN)
		return false;
	if (errno != EBUSY || clock_ms() > l->until) {
		log_warn("control group %s/%s", g->path, name);
		return true;
	}
	cgfs_kill(g->dir, name);
	return false;
}

static void
groups_on_timer(void *arg)
{
	struct groups	*g = arg;
	struct left	*l, *next;
	unsigned	 budget = TURN_MAX;

	for (l = TAILQ_FIRST(&g->left); l != NULL && budget > 0; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (groups_settle(g, l, &budget)) {
			TAILQ_REMOVE(&g->left, l, entry);
			free(l);
		}
	}
	if (!TAILQ_EMPTY(&g->left))
		timer_set(&g->ev, AGAIN_MS);
}

void
groups_give_back(struct groups *g, unsigned number)
{
	struct left	*l;
	char		 name[16];

	if (g == NULL || number == 0)
		return;
	groups_name_of(number, name);
	if (g->nfree < FREE_MAX && reclaim(g, name)) {
		g->free[g->nfree++] = number;
		return;
	}
	/* Without memory it is removed at our end. */
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return;
	l->number = number;
	l->until = clock_ms() + LIMIT_ORPHANS;
	TAILQ_INSERT_TAIL(&g->left, l, entry);
	groups_on_timer(g);
}
