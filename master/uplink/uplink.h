/*
 * One environment at its registry: what the whole of execsrv-uplink is about.
 * The master says what and when; harnesses' streams become connections, given
 * to the master or to another exec server.
 */
#ifndef MASTER_UPLINK_UPLINK_H
#define MASTER_UPLINK_UPLINK_H

#include "master/uplink/dial.h"
#include "master/uplink/noise.h"
#include "master/uplink/registry.h"
#include "master/uplink/rendezvous.h"
#include "proto/ipc.pb-c.h"

struct leg;
struct leg_events;
struct link;

struct uplink {
	struct loop			 loop;
	struct resolver			*resolver;
	struct dialer			 dialer;
	struct registry			 registry;
	struct rendezvous		 rendezvous;
	struct link			*link;
	Ipc__UplinkStart		*start;		/* owned */
	struct noise_identity		*identity;	/* locked memory */
	uint8_t				 nonce[REGISTRY_NONCE];
	struct answer_registration	 registered;
	struct loop_timer		 telling;
	uint64_t			 tell_at;	/* ms: then; 0: not */
	bool				 is_forward;
	struct target			 forward;
};

/*
 * Make u what the master's first two messages say (start is taken over).  0,
 * or -1 after a line in the log.
 */
int	 uplink_init(struct uplink *u, Ipc__UplinkStart *start,
	    const Ipc__UplinkSecret *secret)
	    __attribute__((warn_unused_result));
void	 uplink_fini(struct uplink *u);

/* The master wants it registered. */
void	 uplink_register(struct uplink *u);

/* A leg for a new stream; NULL with errno. */
struct leg	*uplink_new_leg(struct uplink *u,
		    const struct leg_events *events, void *arg);

/* Tell the master how it is; or within so many ms, what it is then. */
void	 uplink_tell(struct uplink *u);
void	 uplink_tell_within(struct uplink *u, uint64_t ms);

#endif
