#include "worker/session/session_kill.h"

#include <assert.h>
#include <stddef.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "worker/os/pcgroup.h"

#define GRACE_LOOK_MS	20	/* between checks in the grace time */
#define PASS_PAUSE_MS	2	/* between two passes */
#define PASS_MS		100	/* of a pass at most: it delays requests */
#define PASSES		3	/* in a row that find no process */

/* Commands only: helpers end with the session. */
static bool
session_kill_is_command(pid_t pid, void *arg)
{
	(void)arg;
	return ptree_is_marked(pid);
}

size_t
session_kill_count(void)
{
	return ptree_kill(0, NULL, session_kill_is_command, NULL);
}

static void
session_kill_on_pass(void *arg)
{
	struct session_kill	*k = arg;
	unsigned		 orphans = k->orphans;

	assert(k->events != NULL);
	if (k->deadline > clock_ms() && session_kill_count() > 0) {
		timer_set(&k->ev, GRACE_LOOK_MS);
		return;
	}
	pcgroups_kill_all(k->cgroups);
	k->orphans = 0;
	k->passes = ptree_purge(NULL, NULL, NULL, orphans > 0, PASS_MS,
	    k->events->reap, k->arg) ? 0 : k->passes + 1;
	/* The master kills what we may not: set-user-ID programs. */
	if ((k->passes >= PASSES && k->events->is_notified(k->arg)) ||
	    clock_ms() > k->deadline + LIMIT_KILL)
		k->events->on_done(k->arg);
	else
		timer_set(&k->ev, PASS_PAUSE_MS);
}

void
session_kill_init(struct session_kill *k, struct event_base *base,
    const struct session_kill_events *events, void *arg)
{
	k->events = events;
	k->arg = arg;
	timer_init(&k->ev, base, session_kill_on_pass, k);
}

void
session_kill_fini(struct session_kill *k)
{
	timer_stop(&k->ev);
}

void
session_kill_start(struct session_kill *k, struct pcgroups *cgroups,
    uint64_t grace)
{
	assert(k->deadline == 0);
	k->cgroups = cgroups;
	k->deadline = clock_ms() + grace;
	session_kill_on_pass(k);
}

void
session_kill_on_orphan(struct session_kill *k)
{
	k->orphans++;
}
