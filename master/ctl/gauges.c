#include "master/ctl/gauges.h"

#include <assert.h>
#include <string.h>

#include "master/accept/gate.h"
#include "master/remote/remote.h"
#include "master/workers/child.h"
#include "master/workers/membudget.h"
#include "master/workers/route.h"

/* gauges_take() counts workers by state: rows in the order of child_state. */
_Static_assert(GAUGE_workers_greeting - GAUGE_workers_starting ==
    CHILD_GREETING && GAUGE_workers_leaving - GAUGE_workers_starting ==
    CHILD_LEAVING, "workers in gauge.def");

void
gauges_sessions(const struct master *m, uint64_t n[3])
{
	const struct route	*r;

	n[0] = n[1] = n[2] = 0;
	TAILQ_FOREACH(r, &m->routes.list, entry)
		if (r->opened)
			n[r->owner == NULL ? 2 : r->attached ? 0 : 1]++;
}

void
gauges_take(const struct master *m, uint64_t gauges[GAUGES])
{
	const struct child	*c;
	const struct remote	*r;
	uint64_t		 sessions[3];

	memset(gauges, 0, GAUGES * sizeof(gauges[0]));
	gauges_sessions(m, sessions);
	gauges[GAUGE_sessions_attached] = sessions[0];
	gauges[GAUGE_sessions_detached] = sessions[1];
	gauges[GAUGE_sessions_kept] = sessions[2];
	gauges[GAUGE_start_time] = (uint64_t)m->start.time;
	gauges[GAUGE_draining] = m->drain.is_on;
	gauges[GAUGE_ready] = m->events->is_ready(m);
	gauges[GAUGE_held] = membudget_total(m->budget);
	gauges[GAUGE_waiting] = gate_waiting(m->gate);
	TAILQ_FOREACH(c, &m->children.list, entry) {
		assert(c->state < CHILD_STATES);
		gauges[GAUGE_workers_starting + (int)c->state]++;
		if (c->route != NULL)
			gauges[GAUGE_processes] += c->running;
	}
	TAILQ_FOREACH(r, &m->uplinks.list, entry)
		gauges[remote_gauge(r)]++;
}
