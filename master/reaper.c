#include "master/reaper.h"

#include <sys/wait.h>

#include <assert.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "master/workers/reserve.h"

#define LOOK_MS		1000	/* between attempts to reap */
#define PASS_PAUSE_MS	5	/* between two passes */
#define PASS_MS		5	/* a pass takes at most */
#define PASSES		3	/* in a row, that must find no orphan */

static bool
reaper_is_orphan(pid_t pid, void *arg)
{
	const struct reaper	*r = arg;

	return !r->adopts || ptree_is_marked(pid);
}

static bool
reaper_is_ours(pid_t pid, void *arg)
{
	const struct reaper	*r = arg;
	size_t			 i;

	for (i = 0; i < r->nforeign; i++)
		if (r->foreign[i] == pid)
			return true;
	return r->events->is_ours(r->arg, pid);
}

/* --- reaping --- */

/* A reaped orphan may have forked before a pass found it: kill on. */
static void
reaper_on_orphan(struct reaper *r)
{
	r->reaped++;
	r->events->on_orphan(r->arg);
	reaper_kill_orphans(r);
}

/*
 * Reap all children that exited, known or not; many in several turns of the
 * loop.  Try again later even without a SIGCHLD: a waitid(2) may fail.
 */
static void
reaper_reap(void *arg)
{
	struct reaper	*r = arg;
	pid_t		 pid;
	int		 status, n;
	bool		 is_orphan;

	assert(r->events != NULL);
	for (n = 0; n < LIMIT_REAPED; n++) {
		if ((pid = ptree_peek()) == 0) {
			timer_set(&r->reap_ev, LOOK_MS);
			return;
		}
		if (pid == -1)
			continue;
		/* Read the mark before waitpid(2): a zombie still has one. */
		is_orphan = reaper_is_orphan(pid, r);
		if (waitpid(pid, &status, WNOHANG) == pid &&
		    !r->events->on_exit(r->arg, pid, status) && is_orphan)
			reaper_on_orphan(r);
	}
	reaper_reap_soon(r);
}

void
reaper_reap_soon(struct reaper *r)
{
	timer_set(&r->reap_ev, 0);
}

/* --- orphans --- */

/* Make a pass.  Whether it was the last one. */
static bool
reaper_make_pass(struct reaper *r)
{
	unsigned	 reaped = r->reaped;
	bool		 may_be_left;

	r->reaped = 0;
	/* Without a descriptor for /proc passes would go on forever. */
	reserve_release(r->reserve);
	may_be_left = ptree_purge(reaper_is_ours, reaper_is_orphan, r,
	    reaped > 0, PASS_MS, reaper_reap, r);
	reserve_fill(r->reserve);
	r->passes = may_be_left ? 0 : r->passes + 1;
	if (r->passes < PASSES) {
		if (clock_ms() < r->until)
			return false;
		/* EPERM, for example a set-user-ID program. */
		log_warnx("processes that a worker left behind cannot be "
		    "killed");
		r->passes = PASSES;
	}
	r->until = 0;
	timer_stop(&r->orphan_ev);
	return true;
}

static void
reaper_on_pass(void *arg)
{
	struct reaper	*r = arg;

	assert(r->until != 0);
	/* A worker whose pid is not known yet would be taken for an orphan. */
	if (r->events->knows_all(r->arg) && reaper_make_pass(r))
		r->events->on_no_orphans(r->arg);
	else
		timer_set(&r->orphan_ev, PASS_PAUSE_MS);
}

void
reaper_kill_orphans(struct reaper *r)
{
	r->passes = 0;
	if (r->until == 0)
		r->until = clock_ms() + LIMIT_ORPHANS;
	timer_ensure(&r->orphan_ev, 0);
}

bool
reaper_has_no_orphans(const struct reaper *r)
{
	return r->passes >= PASSES;
}

/* --- beginning and end --- */

/* A ptree_match_fn of children to skip: records and skips all of them. */
static bool
reaper_note_foreign(pid_t pid, void *arg)
{
	struct reaper	*r = arg;
	pid_t		*list;

	if ((list = reallocarray(r->foreign, r->nforeign + 1,
	    sizeof(*list))) != NULL) {
		r->foreign = list;
		r->foreign[r->nforeign++] = pid;
	}
	return true;
}

void
reaper_init(struct reaper *r, struct event_base *base,
    struct reserve *reserve, bool adopts, const struct reaper_events *events,
    void *arg)
{
	assert(r->events == NULL && base != NULL && events != NULL);
	r->events = events;
	r->arg = arg;
	r->reserve = reserve;
	r->adopts = adopts;
	ptree_kill(0, reaper_note_foreign, NULL, r);
	timer_init(&r->reap_ev, base, reaper_reap, r);
	timer_init(&r->orphan_ev, base, reaper_on_pass, r);
}

void
reaper_fini(struct reaper *r)
{
	timer_stop(&r->reap_ev);
	timer_stop(&r->orphan_ev);
	free(r->foreign);
	r->foreign = NULL;
	r->nforeign = 0;
}
