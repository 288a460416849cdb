/* What the modules of a hub's worker share: data. */
#pragma once

#include <sys/queue.h>

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "master/auth/penalty.h"
#include "master/hub/relay/door.h"
#include "master/hub/relay/engine.h"
#include "master/hub/relay/hubconn.h"
#include "master/hub/relay/hubdrain.h"
#include "master/hub/admit/replay.h"
#include "master/hub/fleet/hubsplice.h"
#include "master/hub/admit/site.h"
#include "master/hub/admit/subject.h"
#include "master/hub/relay/switchboard.h"

enum hub_stat {
#define HUBSTAT(name, metric, meaning)	HUBSTAT_##name,
#define HUBWHY(name, reason, meaning)	HUBWHY_##name,
#include "proto/hubstat.def"
#undef HUBSTAT
#undef HUBWHY
	HUB_STATS
};

#define HUB_NAME_MAX	64

struct hubctl;

struct hub {
	struct event_base	*base;
	struct site		*site;
	struct hubconn_loop	 conns;
	struct doors		 doors;
	struct switchboard	 board;
	struct subjects		 subjects;
	struct replay		 used;		/* tickets of harnesses */
	struct replay		 evicted;	/* registrations */
	struct hubdrain		 drain;
	struct penalties	*penalties;
	struct engine		*engine;
	LIST_HEAD(, hubfleet_judging) judging;
	struct hubsplices	 splices;
	struct hubctl		*ctl;
	int			 audit;		/* descriptor, or -1 */
	uint64_t		 audit_lost;
	uint64_t		 registered;	/* ms, of the last one */
	char			 name[HUB_NAME_MAX];
	uint64_t		 started;	/* Unix seconds */
	uint64_t		 stat[HUB_STATS];
};

/* The address by which this hub is reached. */
static inline const char *
hub_url(const struct hub *h)
{
	const struct hubconf	*c = &h->site->conf;

	return c->hub_url[0] != '\0' ? c->hub_url : c->fleet_url;
}

#define HUB_COUNT(h, name)	((h)->stat[HUBSTAT_##name]++)
#define HUB_REFUSED(h, name)	((h)->stat[HUBWHY_##name]++)
