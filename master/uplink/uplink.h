/*
 * One environment at its registry.  The master says when to register;
 * harnesses' streams become connections to its workers or another exec server.
 */
#pragma once

#include "master/uplink/rendezvous.h"
#include "master/uplink/uplink_env.h"

struct uplink_link;

struct uplink {
	struct uplink_env	 env;
	struct rendezvous	 rendezvous;
	struct uplink_link	*link;
	struct wsloop_timer	 telling;
	uint64_t		 report_at;	/* ms; 0: no report is due */
	bool			 is_forward;
	struct target		 forward;
};

/* Takes over start.  0, or -1 after a line in the log. */
int	 uplink_init(struct uplink *u, Ipc__UplinkStart *start,
	    const Ipc__UplinkSecret *secret) MUST_CHECK;
void	 uplink_fini(struct uplink *u);

/* Serve the master on sock (taken).  0, or -1 with errno. */
int	 uplink_serve(struct uplink *u, int sock) MUST_CHECK;

void	 uplink_report(struct uplink *u);
