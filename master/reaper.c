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
#define REST		250	/* times as long as a look at all took */
#define REST_MAX_MS	1000

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

/* Begin to kill orphans at clock_ms() at; or go on. */
static void
reaper_start_passes(struct reaper *r, uint64_t at)
{
	uint64_t	 now = clock_ms();

	r->passes = 0;
	if (r->until != 0 && (at >= r->next || now >= r->next))
		return;
	r->next = at > now ? at : now;
	r->until = r->next + LIMIT_ORPHANS;
	timer_set(&r->orphan_ev, r->next - now);
}

/* --- reaping --- */

/*
 * The kernel's list of our children is as long as there are sessions, and
 * waiting for any child walks it.  So a child is reaped when it is known to
 * have exited, by the siginfo of SIGCHLD or the end of its channel.  All are
 * looked at once for all exits of a while, in REAPER_PAUSE_MS at the earliest
 * and for a small share of the time: to reap those whose signals were merged,
 * and for orphans.  An unknown child, a zombie too, is one: then passes over
 * all descendants follow until none is left.
 */

/* A reaped orphan may have forked before a pass found it: kill on. */
static void
reaper_on_orphan(struct reaper *r)
{
	r->reaped++;
	r->events->on_orphan(r->arg);
	reaper_start_passes(r, r->rest);
}

/* Reap a child that ptree_peek() returned. */
static void
reaper_reap_peeked(struct reaper *r, pid_t pid)
{
	/* Read the mark before waitpid(2): a zombie still has one. */
	bool	 is_orphan = !r->events->is_ours(r->arg, pid) &&
		    reaper_is_orphan(pid, r);
	int	 status;

	if (waitpid(pid, &status, WNOHANG) == pid &&
	    !r->events->on_exit(r->arg, pid, status) && is_orphan)
		reaper_on_orphan(r);
}

/* Reap one child.  Whether it had exited. */
static bool
reap_one(struct reaper *r, pid_t pid)
{
	pid_t	 found;

	do
		found = ptree_peek_one(pid);
	while (found == -1);
	if (found == pid)
		reaper_reap_peeked(r, pid);
	return found == pid;
}

/* Set when all are looked at, after a look that began at us. */
static void
reaper_rest(uint64_t *rest, uint64_t us)
{
	uint64_t	 ms = (clock_us() - us) * REST / 1000;

	if (ms < REAPER_PAUSE_MS)
		ms = REAPER_PAUSE_MS;
	*rest = clock_ms() + (ms < REST_MAX_MS ? ms : REST_MAX_MS);
}

/*
 * Reap all children that exited, known or not; many in several turns of the
 * loop.  Try again later even without a SIGCHLD: a waitid(2) may fail.
 */
static void
reaper_reap(void *arg)
{
	struct reaper	*r = arg;
	uint64_t	 begin = clock_us();
	pid_t		 pid;
	int		 n;

	assert(r->events != NULL);
	for (n = 0; n < LIMIT_REAPED; n++) {
		if ((pid = ptree_peek()) == 0) {
			reaper_rest(&r->reap_rest, begin);
			r->is_scheduled = false;
			timer_set(&r->reap_ev, LOOK_MS);
			return;
		}
		if (pid != -1)
			reaper_reap_peeked(r, pid);
	}
	reaper_schedule(r);
}

void
reaper_schedule(struct reaper *r)
{
	r->is_scheduled = true;
	timer_set(&r->reap_ev, 0);
}

void
reaper_on_signal(struct reaper *r, pid_t pid)
{
	uint64_t	 now = clock_ms();
	int		 n;

	if (pid > 0)
		reap_one(r, pid);
	for (n = 0; n < LIMIT_REAPED &&
	    (pid = r->events->next_exit(r->arg)) != 0 && reap_one(r, pid); n++)
		continue;
	/* Others, whose signals were merged with this one. */
	if (!r->is_scheduled)
		timer_set(&r->reap_ev, now < r->reap_rest ?
		    r->reap_rest - now : 0);
	r->is_scheduled = true;
}

/* --- orphans --- */

/* Make a pass.  Whether it was the last one. */
static bool
reaper_make_pass(struct reaper *r)
{
	unsigned	 reaped = r->reaped;
	bool		 may_be_left;

	assert(r->until != 0);
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
	uint64_t	 begin = clock_us();
	bool		 is_over;

	/* A worker whose pid is not known yet would be taken for an orphan. */
	if (!r->events->knows_all(r->arg)) {
		timer_set(&r->orphan_ev, PASS_PAUSE_MS);
		return;
	}
	if (r->until == 0) {
		is_over = !ptree_has_child(reaper_is_ours, reaper_is_orphan, r);
		r->looked = clock_ms();
		reaper_rest(&r->rest, begin);
		if (!is_over)
			reaper_kill_orphans(r);
		return;
	}
	is_over = reaper_make_pass(r);
	reaper_rest(&r->rest, begin);
	if (is_over)
		r->events->on_no_orphans(r->arg);
	else
		timer_set(&r->orphan_ev, PASS_PAUSE_MS);
}

void
reaper_look(struct reaper *r, bool is_urgent)
{
	uint64_t	 now = clock_ms();
	uint64_t	 at = is_urgent ? r->looked + REAPER_PAUSE_MS : r->rest;

	if (at < now)
		at = now;
	if (timer_is_set(&r->orphan_ev) && r->next <= at)
		return;
	r->next = at;
	timer_set(&r->orphan_ev, at - now);
}

void
reaper_kill_orphans(struct reaper *r)
{
	reaper_start_passes(r, clock_ms());
}

bool
reaper_has_no_orphans(const struct reaper *r)
{
	return r->passes >= PASSES && r->nranges == 0;
}

/* --- processes of workers that were not our children --- */

static void
reaper_on_range(void *arg)
{
	struct reaper	*r = arg;
	bool		 is_late = clock_ms() >= r->range_until;

	assert(r->nranges > 0);
	reserve_release(r->reserve);
	if (ptree_kill_ranges(r->ranges, r->nranges) == 0)
		r->range_passes++;
	else
		r->range_passes = 0;
	reserve_fill(r->reserve);
	if (r->range_passes < PASSES && !is_late) {
		timer_set(&r->range_ev, PASS_PAUSE_MS);
		return;
	}
	if (r->range_passes < PASSES)
		log_warnx("processes that a worker left behind cannot be "
		    "killed");
	r->nranges = 0;
	r->events->on_no_orphans(r->arg);
}

void
reaper_kill_range(struct reaper *r, uint64_t first)
{
	uint64_t	*list;

	if (first == 0)
		return;
	if ((list = reallocarray(r->ranges, r->nranges + 1,
	    sizeof(*list))) == NULL) {
		log_warn("cannot kill what a worker left behind");
		return;
	}
	r->ranges = list;
	r->ranges[r->nranges++] = first;
	r->range_passes = 0;
	r->range_until = clock_ms() + LIMIT_ORPHANS;
	timer_set(&r->range_ev, 0);
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
	timer_init(&r->range_ev, base, reaper_on_range, r);
}

void
reaper_fini(struct reaper *r)
{
	timer_stop(&r->reap_ev);
	timer_stop(&r->orphan_ev);
	timer_stop(&r->range_ev);
	free(r->foreign);
	free(r->ranges);
	r->foreign = NULL;
	r->ranges = NULL;
	r->nforeign = r->nranges = 0;
}
