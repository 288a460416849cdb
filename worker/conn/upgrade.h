/*
 * The HTTP part of a connection: read the head exactly, never a byte beyond
 * it, answer what is no upgrade, switch to WebSocket what is.  Blocking, with
 * a deadline: nothing else goes on in a worker at that time.
 */
#ifndef WORKER_CONN_UPGRADE_H
#define WORKER_CONN_UPGRADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/ipc.h"

enum upgraded {
	UPGRADE_UPGRADED,	/* the next byte is the first of a frame */
	UPGRADE_ADMITTED,	/* the same, for another worker:
				   token_auth_pass() */
	UPGRADE_ANSWERED,	/* over: answered, left by the peer, or late */
};

struct upgrade_rules {
	uint64_t	 ms;		/* for all of it */
	int		 refuse;	/* status for whatever is asked, or 0 */
	const char	*why;		/* that, for the peer */
	bool		 is_ready;	/* what /readyz tells */
	char *const	*hosts;		/* what we are called, besides */
	size_t		 nhosts;
	Ipc__Asking	 asking;	/* for a token */
	int		 master;	/* who judges it */
};

/* Greet the peer on fd (kept open). */
enum upgraded	 upgrade(int fd, const struct upgrade_rules *r);

/* The same where there is no WebSocket, but /metrics; and nobody is asked. */
void		 upgrade_metrics(int fd, const struct upgrade_rules *r,
		    const Ipc__Figures *f);

#endif
