/* The websocket to the rendezvous (PROTOCOL 12.4), reconnected if needed. */
#pragma once

#include "common/dial/wsock.h"
#include "common/net/inflight.h"
#include "proto/ipc.pb-c.h"

struct carrier;
struct uplink_env;

/* Embedded; the uplink reads carrier to bytes_out, the rest is private. */
struct rendezvous {
	struct uplink_env	*env;
	struct wsock		*sock;
	struct carrier		*carrier;	/* NULL: not connected */
	Ipc__UplinkPhase	 phase;
	unsigned		 status;	/* HTTP, of the last refusal */
	bool			 has_no_url;	/* the registry gave none */
	uint64_t		 bytes_in, bytes_out;
	bool			 must_pause;	/* before the next attempt */
	uint64_t		 window;	/* ms, of the random pause */
	uint64_t		 opened;	/* ms; 0: not connected */
	struct inflight		 inflight;
	bool			 must_ask;	/* send a ping */
	bool			 is_writing;
	struct wsloop_timer	 pause, ping, pong, stuck;
};

void	 rendezvous_init(struct rendezvous *r, struct uplink_env *env);
void	 rendezvous_fini(struct rendezvous *r);

/* Connect to where the new registration says. */
void	 rendezvous_start(struct rendezvous *r);
