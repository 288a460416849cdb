#include "worker/limits.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <string.h>

#include "worker/rawcall.h"

#define PRIORITY_MAX	19

static rlim_t
bound(uint64_t n, rlim_t most)
{
	return n < most ? (rlim_t)n : most;
}

void
limits_init(struct limits *l, const Ipc__Settings *set)
{
	struct rlimit	 own;
	size_t		 i;
	int		 now;

	memset(l, 0, sizeof(*l));
	for (i = 0; i < set->n_rlimit && l->n < LIMITS_MAX; i++) {
		const Ipc__Rlimit	*in = set->rlimit[i];

		if (getrlimit((int)in->resource, &own) == -1)
			continue;
		l->rlimit[l->n].resource = (int)in->resource;
		l->rlimit[l->n].value.rlim_max = bound(in->hard,
		    own.rlim_max);
		l->rlimit[l->n].value.rlim_cur = bound(in->soft,
		    l->rlimit[l->n].value.rlim_max);
		l->n++;
	}
	l->umask = (mode_t)set->umask;
	errno = 0;
	now = getpriority(PRIO_PROCESS, 0);
	l->priority = (errno == 0 ? now : 0) + (int)set->nice;
	if (l->priority > PRIORITY_MAX)
		l->priority = PRIORITY_MAX;
}

void
limits_apply(const struct limits *l)
{
	size_t	 i;

	for (i = 0; i < l->n; i++)
		setrlimit(l->rlimit[i].resource, &l->rlimit[i].value);
	umask(l->umask);
	/* Whoever made us more important than that keeps it so. */
	rawcall(SYS_setpriority, PRIO_PROCESS, 0, l->priority, 0, 0);
}
