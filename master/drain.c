#include "master/drain.h"

#include "common/clock.h"
#include "common/ev.h"
#include "common/log.h"
#include "master/workers/route.h"

/*
 * Looking is cheaper than a hook wherever a session may end, and nobody's
 * list is taken apart under its feet.
 */
#define LOOK_MS		100

static void
look_in(struct master *m, uint64_t ms)
{

	timer_set(&m->drain_ev, ms);
}

static void
drain_on_look(void *arg)
{
	struct master	*m = arg;
	size_t		 n = route_count(m);

	if (m->stopping)
		return;
	if (n > 0 && (m->drain_until == 0 || clock_ms() < m->drain_until)) {
		look_in(m, LOOK_MS);
		return;
	}
	m->drain_left = n;
	if (n > 0)
		log_warnx("%zu sessions did not end in time", n);
	m->events->stop(m, n > 0 ? "DrainTimeout" : "drained");
}

void
drain_start(struct master *m)
{
	if (m->draining || m->stopping)
		return;
	m->draining = true;
	timer_init(&m->drain_ev, m->base, drain_on_look, m);
	log_info("draining: %zu sessions", route_count(m));
	if (m->conf.drain_timeout > 0)
		m->drain_until = clock_ms() + m->conf.drain_timeout;
	look_in(m, LOOK_MS);
}
