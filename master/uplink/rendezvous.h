/*
 * The one websocket to the rendezvous (PROTOCOL 12.4): connects it again when
 * it ends, keeps it alive, and knows how far the other end has read.
 */
#ifndef MASTER_UPLINK_RENDEZVOUS_H
#define MASTER_UPLINK_RENDEZVOUS_H

#include "common/dial/wsock.h"
#include "master/uplink/inflight.h"
#include "proto/ipc.pb-c.h"

struct carrier;
struct uplink_env;

/* Embedded; members are private but for those that are shown. */
struct rendezvous {
	struct uplink_env	*env;
	struct wsock		*sock;
	struct carrier		*carrier;	/* while connected */
	Ipc__UplinkPhase	 phase;		/* shown, as the next four */
	unsigned		 status;	/* of the last refusal */
	bool			 has_no_url;	/* the registry gave none */
	uint64_t		 bytes_in, bytes_out;
	bool			 must_pause;	/* before the next attempt */
	uint64_t		 window;	/* ms */
	uint64_t		 opened;	/* ms; 0: not connected */
	struct inflight		 inflight;
	bool			 must_ask;
	bool			 is_writing;
	struct wsloop_timer	 pause, ping, pong, stuck;
};

void	 rendezvous_init(struct rendezvous *r, struct uplink_env *env);
void	 rendezvous_fini(struct rendezvous *r);

/* There is a new registration: go where it says. */
void	 rendezvous_start(struct rendezvous *r);

#endif
