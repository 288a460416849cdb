#include "worker/os/rlimits.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/linux/ptree.h"
#include "worker/os/rawsys.h"

#define PRIORITY_MAX	19

static rlim_t
bound(uint64_t n, rlim_t most)
{
	return n < most ? (rlim_t)n : most;
}

static void
rlimits_add(struct rlimits *l, int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit	 own;
	size_t		 i;

	assert(l->n <= RLIMITS_MAX);
	/* Of two values for a resource the lower one applies. */
	for (i = 0; i < l->n && l->rlimit[i].resource != resource; i++)
		continue;
	if (i < l->n)
		own = l->rlimit[i].value;
	else if (i == RLIMITS_MAX || getrlimit(resource, &own) == -1)
		return;
	else
		own.rlim_cur = RLIM_INFINITY;
	l->rlimit[i].resource = resource;
	l->rlimit[i].value.rlim_max = bound(hard, own.rlim_max);
	l->rlimit[i].value.rlim_cur = bound(bound(soft, own.rlim_cur),
	    l->rlimit[i].value.rlim_max);
	l->n += i == l->n;
}

void
rlimits_init(struct rlimits *l, const Ipc__Settings *set)
{
	size_t	 i;
	int	 now;

	memset(l, 0, sizeof(*l));
	for (i = 0; i < set->n_rlimit; i++)
		rlimits_add(l, (int)set->rlimit[i]->resource,
		    set->rlimit[i]->soft, set->rlimit[i]->hard);
	if (set->as_max != 0)
		rlimits_add(l, RLIMIT_AS, set->as_max, set->as_max);
	l->tasks_max = set->tasks_max;
	l->umask = (mode_t)set->umask;
	errno = 0;
	now = getpriority(PRIO_PROCESS, 0);
	l->priority = (errno == 0 ? now : 0) + (int)set->nice;
	if (l->priority > PRIORITY_MAX)
		l->priority = PRIORITY_MAX;
}

void
rlimits_apply(const struct rlimits *l)
{
	size_t	 i;

	for (i = 0; i < l->n; i++)
		setrlimit(l->rlimit[i].resource, &l->rlimit[i].value);
	umask(l->umask);
	/* Fails if it would raise our priority: then it stays. */
	rawsys(SYS_setpriority, PRIO_PROCESS, 0, l->priority, 0, 0);
}

/* A ptree_match_fn for its side effect: it never matches. */
static bool
count_one(pid_t pid, void *arg)
{
	struct ptree_stat	 st;

	if (ptree_stat(pid, &st) == 0)
		*(uint64_t *)arg += st.threads;
	return false;
}

int
rlimits_count(struct rlimits *l)
{
	if (l->tasks_max == 0)
		return 0;
	l->tasks = 0;
	ptree_kill(0, NULL, count_one, &l->tasks);
	if (l->tasks < l->tasks_max)
		return 0;
	errno = EAGAIN;
	return -1;
}

static int
set_nproc(rlim_t soft, rlim_t hard)
{
	struct rlimit	 rl = { soft, hard };

	return (int)-rawsys(SYS_prlimit64, 0, RLIMIT_NPROC, (long)&rl, 0, 0);
}

/*
 * Whether the limit admits one more process: 0, or the errno.  Tried by a fork
 * without CLONE_VM, since there is one stack only.
 */
static int
try_nproc(rlim_t soft, rlim_t hard)
{
	long	 pid;
	int	 error;

	if ((error = set_nproc(soft, hard)) != 0)
		return error;
	pid = rawsys(SYS_clone, 0, 0, 0, 0, 0);
	while (pid == 0)
		rawsys(SYS_exit_group, 0, 0, 0, 0, 0);
	if (pid < 0)
		return (int)-pid;
	while (rawsys(SYS_wait4, pid, 0, __WALL, 0, 0) == -EINTR)
		continue;
	return 0;
}

/* Find the lowest limit that admits one more process.  0, or the errno. */
static int
find_nproc(rlim_t hard, rlim_t *out)
{
	rlim_t	 low = 0, high = 1, middle;
	int	 error;

	while ((error = try_nproc(high, hard)) == EAGAIN && high < hard) {
		low = high;
		high = high > hard / 2 ? hard : 2 * high;
	}
	if (error != 0)
		return error;
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if ((error = try_nproc(middle, hard)) == 0)
			high = middle;
		else if (error == EAGAIN)
			low = middle;
		else
			return error;
	}
	*out = high;
	return 0;
}

int
rlimits_apply_tasks(const struct rlimits *l)
{
	struct rlimit	 was;
	rlim_t		 least, others, limit;
	int		 error;

	if (l->tasks_max == 0)
		return 0;
	error = (int)-rawsys(SYS_prlimit64, 0, RLIMIT_NPROC, 0, (long)&was,
	    0);
	if (error != 0 || was.rlim_max == 0 ||
	    (error = find_nproc(was.rlim_max, &least)) != 0)
		return error;
	/* Below our own process: the limit does not apply (root). */
	if (least < 2)
		return set_nproc(was.rlim_cur, was.rlim_max);
	/* Less this process and the one that fits. */
	others = least > l->tasks + 2 ? least - 2 - l->tasks : 0;
	limit = bound(l->tasks_max, was.rlim_cur);
	limit = others > was.rlim_cur - limit ? was.rlim_cur : others + limit;
	return set_nproc(limit, limit);
}
