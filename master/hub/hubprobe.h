/* Finds out whether an executor lives. */
#pragma once

#include "master/hub/hub.h"

enum probe {
	UNKNOWN,
	ALIVE,		/* here or at another hub */
	DEAD,
	CLAIMED,	/* all other hubs leave its place to the new one */
	KEPT		/* another hub does not */
};

/* Embedded; stop it before it is freed. */
struct hubprobe {
	struct timer	 timer;
	struct hub	*hub;
	void		(*fn)(void *arg, enum probe probe);
	void		*arg;
	char		 environment[ENVIRONMENT_MAX + 1];
	uint64_t	 number;	/* of the executor */
	uint64_t	 since;		/* ms */
	uint32_t	 pongs;		/* it had sent then */
};

/* Ping it; fn is called once, later: UNKNOWN if it is gone meanwhile. */
void	 hubprobe_start(struct hubprobe *p, struct hub *h, struct executor *x,
	    void (*fn)(void *arg, enum probe probe), void *arg);
void	 hubprobe_stop(struct hubprobe *p);
