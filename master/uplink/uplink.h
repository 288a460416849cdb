/*
 * One environment at its registry: what the whole of execsrv-uplink is about.
 * The master says what and when; harnesses' streams become connections, given
 * to the master or to another exec server.
 */
#ifndef MASTER_UPLINK_UPLINK_H
#define MASTER_UPLINK_UPLINK_H

#include "master/uplink/rendezvous.h"
#include "master/uplink/uplink_env.h"

struct uplink_link;

struct uplink {
	struct uplink_env	 env;
	struct rendezvous	 rendezvous;
	struct uplink_link		*link;
	struct wsloop_timer	 telling;
	uint64_t		 tell_at;	/* ms: then; 0: not */
	bool			 is_forward;
	struct target		 forward;
};

/*
 * Make u what the master's first two messages say (start is taken over).  0,
 * or -1 after a line in the log.
 */
int	 uplink_init(struct uplink *u, Ipc__UplinkStart *start,
	    const Ipc__UplinkSecret *secret)
	    __attribute__((warn_unused_result));
void	 uplink_fini(struct uplink *u);

/* Hear the master on sock, which stays the caller's.  0, or -1 with errno. */
int	 uplink_serve(struct uplink *u, int sock)
	    __attribute__((warn_unused_result));

/* Tell the master how it is. */
void	 uplink_tell(struct uplink *u);

#endif
