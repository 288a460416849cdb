#include "master/ctl/gauges.h"

#include <assert.h>
#include <string.h>

#include "master/accept/gate.h"
#include "master/parts.h"
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
	n[0] = m->routes.in_state[ROUTE_ATTACHED];
	n[1] = m->routes.in_state[ROUTE_DETACHED];
	n[2] = m->routes.in_state[ROUTE_KEPT];
}

void
gauges_take(const struct master *m, uint64_t gauges[GAUGES])
{
	const struct remote	*r;
	uint64_t		 sessions[3];
	int			 i;

	memset(gauges, 0, GAUGES * sizeof(gauges[0]));
	gauges_sessions(m, sessions);
	gauges[GAUGE_sessions_attached] = sessions[0];
	gauges[GAUGE_sessions_detached] = sessions[1];
	gauges[GAUGE_sessions_kept] = sessions[2];
	gauges[GAUGE_start_time] = (uint64_t)m->world.start.time;
	gauges[GAUGE_draining] = m->drain.is_on;
	gauges[GAUGE_reload_ok] = !m->world.start.is_reload_refused;
	gauges[GAUGE_reload_time] = (uint64_t)m->world.start.loaded;
	gauges[GAUGE_ready] = m->world.events->is_ready(m);
	gauges[GAUGE_held] = membudget_total(m->budget);
	gauges[GAUGE_waiting] = gate_waiting(m->gate);
	for (i = 0; i < CHILD_STATES; i++)
		gauges[GAUGE_workers_starting + i] = m->children.in_state[i];
	gauges[GAUGE_processes] = m->children.running;
	TAILQ_FOREACH(r, &m->uplinks.list, entry)
		gauges[remote_gauge(r)]++;
}
