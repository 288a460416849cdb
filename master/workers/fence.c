#include "master/workers/fence.h"

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
#include "master/workers/groups.h"

#define PREFIX		"execsrv-"
#define AGAIN_MS	20	/* between two tries to remove */
#define ALL_MAX		(1u << 20)
#define LAST_MS		200	/* for the killed to vanish at our end */
#define SHARES		1024	/* of version 1, for a weight of 100 */

static const struct {
	const char	*controller;
	const char	*v1, *v2;	/* files */
	const char	*word;
	const char	*rlimit;
} rows[FENCES] = {
#define FENCE(controller, setting, v1, v2, word, rlimit)	\
	{ #controller, v1, v2, word, rlimit },
#include "proto/fence.def"
#undef FENCE
};

enum how { NONE, V1, V2 };

/* The groups of a worker that is gone. */
struct left {
	TAILQ_ENTRY(left)	 entry;
	unsigned		 number;
	uint64_t		 until;		/* ms */
};

struct fence {
	struct {
		enum how	 how;
		char		 path[PATH_MAX];	/* V1: our directory */
		size_t		 parent_len;		/* of that path */
		const char	*name;			/* its last name */
		int		 parent, dir;		/* dir is locked */
	}			 at[FENCES];
	TAILQ_HEAD(, left)	 left;
	struct timer		 ev;
};

static uint64_t
value_of(const struct conf *c, int i)
{
	switch (i) {
#define FENCE(controller, setting, v1, v2, word, rlimit)	\
	case FENCE_##controller:			\
		return c->setting;
#include "proto/fence.def"
#undef FENCE
	}
	return 0;
}

/* --- what there is --- */

/* A directory of ours below the parent, whose path is at[i].path. */
static int
fence_claim(struct fence *f, int i)
{
	char	*path = f->at[i].path, *end = path + f->at[i].parent_len;
	size_t	 room = PATH_MAX - f->at[i].parent_len;

	if (room < 2)
		return -1;
	*end = '/';
	f->at[i].name = end + 1;
	fd_close(&f->at[i].dir);
	f->at[i].dir = cgfs_claim(f->at[i].parent, PREFIX, end + 1, room - 1);
	return f->at[i].dir == -1 ? -1 : 0;
}

/* Our directory of version 1 for a controller, if it lets us. */
static void
find_v1(struct fence *f, int i)
{
	char	*path = f->at[i].path;

	if (cgfs_own_v1(rows[i].controller, path, PATH_MAX) == -1 ||
	    (f->at[i].parent = open(path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return;
	cgfs_remove_stale(f->at[i].parent, PREFIX);
	f->at[i].parent_len = strlen(path);
	if (fence_claim(f, i) == 0 && faccessat(f->at[i].dir, rows[i].v1, W_OK,
	    AT_EACCESS) == 0)
		f->at[i].how = V1;
}

static void	 fence_on_timer(void *);

struct fence *
fence_new(struct master *m)
{
	struct fence	*f;
	int		 i;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return NULL;
	TAILQ_INIT(&f->left);
	for (i = 0; i < FENCES; i++)
		f->at[i].parent = f->at[i].dir = -1;
	timer_init(&f->ev, m->base, fence_on_timer, f);
	if (m->conf.process_cgroup == CONF_CGROUP_NO)
		return f;
	for (i = 0; i < FENCES; i++)
		if (groups_has(m->groups, rows[i].controller))
			f->at[i].how = V2;
		else
			find_v1(f, i);
	return f;
}

/* --- what is left --- */

/* Whether all groups of a worker are gone. */
static bool
remove_of(struct fence *f, unsigned number)
{
	unsigned	 budget = ALL_MAX;
	char		 name[16];
	bool		 all = true;
	int		 i;

	snprintf(name, sizeof(name), "s%u", number);
	for (i = 0; i < FENCES; i++)
		if (f->at[i].how == V1 &&
		    cgfs_remove(f->at[i].dir, name, &budget) == -1)
			all = false;
	return all;
}

static void
fence_on_timer(void *arg)
{
	struct fence	*f = arg;
	struct left	*l, *next;

	for (l = TAILQ_FIRST(&f->left); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (!remove_of(f, l->number) && clock_ms() < l->until)
			continue;
		TAILQ_REMOVE(&f->left, l, entry);
		free(l);
	}
	if (!TAILQ_EMPTY(&f->left))
		timer_set(&f->ev, AGAIN_MS);
}

void
fence_give_back(struct fence *f, unsigned number)
{
	struct left	*l;

	if (remove_of(f, number))
		return;
	/* Without memory it is removed at our end. */
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return;
	l->number = number;
	l->until = clock_ms() + LIMIT_ORPHANS;
	TAILQ_INSERT_TAIL(&f->left, l, entry);
	fence_on_timer(f);
}

/* No worker is left; who was killed last may take a moment. */
static void
fence_remove_ours(struct fence *f, int i)
{
	uint64_t	 until = clock_ms() + LAST_MS;
	unsigned	 budget;

	for (;;) {
		budget = ALL_MAX;
		if (cgfs_remove(f->at[i].parent, f->at[i].name,
		    &budget) == 0 ||
		    errno != EBUSY || clock_ms() >= until)
			return;
		usleep(AGAIN_MS * 1000);
	}
}

void
fence_free(struct fence **fp)
{
	struct fence	*f = *fp;
	struct left	*l;
	int		 i;

	*fp = NULL;
	if (f == NULL)
		return;
	for (i = 0; i < FENCES; i++) {
		if (f->at[i].dir != -1)
			fence_remove_ours(f, i);
		fd_close(&f->at[i].dir);
		fd_close(&f->at[i].parent);
	}
	while ((l = TAILQ_FIRST(&f->left)) != NULL) {
		TAILQ_REMOVE(&f->left, l, entry);
		free(l);
	}
	timer_stop(&f->ev);
	free(f);
}

/* --- for people --- */

static const char *
fence_name_of(const struct fence *f, int i)
{
	switch (f->at[i].how) {
	case V1:
		return "cgroup v1";
	case V2:
		return "cgroup v2";
	case NONE:
		break;
	}
	return rows[i].rlimit;
}

void
fence_print(const struct fence *f, char *out, size_t size)
{
	size_t	 len = 0;
	int	 i;

	snprintf(out, size, "none");
	for (i = 0; i < FENCES && len < size; i++)
		if (fence_name_of(f, i)[0] != '\0')
			len += (size_t)snprintf(out + len, size - len,
			    "%s%s by %s", len > 0 ? ", " : "", rows[i].word,
			    fence_name_of(f, i));
}

/* Whether it is limited, for all or for some. */
static bool
is_asked_for(const struct conf *c, int i)
{
	static const size_t	 numbers[FENCES] = {
#define FENCE(controller, setting, v1, v2, word, rlimit)		\
		CONF_ROW_##setting,
#include "proto/fence.def"
#undef FENCE
	};
	size_t			 k, n;

	for (k = 0; k < c->nmatch; k++)
		for (n = 0; n < c->match[k].nvalue; n++)
			if (c->match[k].value[n].row == numbers[i] &&
			    strcmp(c->match[k].value[n].text, "0") != 0)
				return true;
	return value_of(c, i) != 0;
}

void
fence_warn(const struct fence *f, const struct conf *c)
{
	int	 i;

	for (i = 0; i < FENCES; i++)
		if (f->at[i].how == NONE && is_asked_for(c, i))
			log_warnx("%s cannot be enforced here%s%s: no control "
			    "group with the controller \"%s\" is ours",
			    rows[i].word, rows[i].rlimit[0] != '\0' ?
			    " but by " : "", rows[i].rlimit,
			    rows[i].controller);
}

void
fence_stand_in(const struct fence *f, const struct conf *c,
    uint64_t *as_max_out, uint64_t *tasks_max_out)
{
	*as_max_out = f->at[FENCE_memory].how == NONE ? c->memory_max : 0;
	*tasks_max_out = f->at[FENCE_pids].how == NONE ? c->tasks_max : 0;
}

/* --- a worker --- */

/* What is written; in a group that was another's, also that there is none. */
static void
fence_print_value(const struct fence *f, int i, uint64_t n, char out[24])
{
	bool	 is_weight = i == FENCE_cpu;

	if (n == 0)
		strcpy(out, is_weight ? "100" : "max");
	else
		snprintf(out, 24, "%llu", (unsigned long long)(is_weight &&
		    f->at[i].how == V1 ? n * SHARES / 100 : n));
}

/* Somebody may have taken ours away: then there is another. */
static void
restore(struct fence *f)
{
	int	 i;

	for (i = 0; i < FENCES; i++) {
		if (f->at[i].how != V1 || cgfs_is_there(f->at[i].parent,
		    f->at[i].name, f->at[i].dir))
			continue;
		if (fence_claim(f, i) == 0)
			log_warnx("our control group for %s was taken away; "
			    "a new one is made", rows[i].word);
		else
			log_warn("our control group for %s was taken away",
			    rows[i].word);
	}
}

void
fence_way(struct fence *f, const struct conf *c, unsigned number,
    struct fence_way *out)
{
	Ipc__Fence	*step;
	int		 i;

	restore(f);
	out->n = 0;
	out->has_v1 = false;
	for (i = 0; i < FENCES; i++) {
		if (f->at[i].how == NONE || (f->at[i].how == V1 &&
		    value_of(c, i) == 0))
			continue;
		step = &out->step[out->n];
		ipc__fence__init(step);
		out->dir[i][0] = '\0';
		if (f->at[i].how == V1) {
			out->has_v1 = true;
			snprintf(out->dir[i], sizeof(out->dir[i]), "%s/s%u",
			    f->at[i].path, number);
		}
		fence_print_value(f, i, value_of(c, i), out->value[i]);
		step->dir = out->dir[i];
		step->file = (char *)(uintptr_t)(f->at[i].how == V1 ?
		    rows[i].v1 : rows[i].v2);
		step->value = out->value[i];
		out->list[out->n++] = step;
	}
}
