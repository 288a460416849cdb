/*
 * The engine of several hubs: NATS.  Who has an environment subscribes to its
 * subject, so that the server knows, and forgets it with our connection:
 * nothing is written anywhere.  Subjects are, below PREFIX:
 *
 *	env.ENVIRONMENT		the hub that has it ("." is "=" there)
 *	hub.all, hub.ID		all hubs, one of them
 *	inbox.ID.NUMBER		an answer to one of them
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

/* Whether a prefix of subjects may be one. */
bool		 engine_nats_is_prefix(const char *text);

/* NULL with errno; how stays the caller's then. */
struct engine	*engine_nats_new(const struct engine_nats_how *how,
		    const struct engine_events *e, void *arg);
