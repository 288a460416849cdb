/* Shared by modules of a session, which owns it and outlives them. */
#pragma once

#include <sys/resource.h>

#include <event2/event.h>

#include "common/ipc/ipc.h"
#include "worker/os/rlimits.h"

struct pcgroups;
struct scgroup;

struct env {
	struct event_base	*base;
	Ipc__Settings		 set;		/* resolved for the client */
	unsigned		 number;	/* of the session, in logs */
	uint64_t		 marks;		/* Ipc__Assign */
	struct pcgroups		*cgroups;	/* of commands, or NULL */
	const struct scgroup	*limited;	/* by TasksMax, or NULL */
	struct rlimit		 nofile;	/* of commands */
	struct rlimits		 rlimits;	/* of commands, too */
};
