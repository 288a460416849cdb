/* What the modules of an uplink share: data, and events for the uplink. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/dial/dial.h"
#include "common/dial/registry.h"
#include "common/noise/noise.h"
#include "proto/ipc.pb-c.h"

struct local_end;
struct local_end_events;

struct uplink_events {
	/* NULL with errno. */
	struct local_end	*(*new_local_end)(void *arg,
				    const struct local_end_events *events,
				    void *end_arg);

	/* Report the status to the master within ms; 0: now. */
	void		 (*on_news)(void *arg, uint64_t ms);

	/* The registry rejects the credential. */
	void		 (*on_denied)(void *arg);
};

struct uplink_env {
	const struct uplink_events	*events;
	void				*arg;
	struct wsloop			 loop;
	struct resolver			*resolver;
	struct dialer			 dialer;
	struct registry			 registry;
	Ipc__UplinkStart		*start;		/* owned */
	struct noise_identity		*identity;	/* locked memory */
	uint8_t				 nonce[REGISTRY_NONCE];
	struct answer_registration	 registered;
};
