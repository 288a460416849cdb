/*
 * What everything in a session stands on: data only.  The session owns it, and
 * it outlives all that was given a pointer to it.
 */
#ifndef WORKER_OS_ENV_H
#define WORKER_OS_ENV_H

#include <event2/event.h>

#include "common/ipc/ipc.h"

struct pcgroups;

struct env {
	struct event_base	*base;
	Ipc__Settings		 set;		/* in force for its client */
	unsigned		 number;	/* of the session, for people */
	struct pcgroups		*cgroups;	/* of its commands, or NULL */
};

#endif
