/*
 * The engine of several hubs: NATS.  Who has an environment subscribes to its
 * subject, so that the server knows, and forgets it with our connection.
 */
#pragma once

#include "master/hub/fleet/natslink.h"
#include "master/hub/relay/engine.h"

#define ENGINE_PREFIX_MAX	64

struct engine_nats_how {
	struct natslink_how	 link;
	char			 prefix[ENGINE_PREFIX_MAX + 1];
	uint64_t		 skew;		/* ms between clocks */
};

bool		 engine_nats_is_prefix(const char *text);

/* NULL with errno; how stays the caller's then. */
struct engine	*engine_nats_new(const struct engine_nats_how *how,
		    const struct engine_events *e, void *arg);
