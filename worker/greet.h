/*
 * The HTTP part of a connection: read the head exactly, never a byte beyond
 * it, answer what is no upgrade, switch to WebSocket what is.  Blocking, with
 * a deadline: nothing else goes on in a worker at that time.
 */
#ifndef WORKER_GREET_H
#define WORKER_GREET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc.h"

enum greeting {
	GREETING_UPGRADED,	/* the next byte is the first of a frame */
	GREETING_ANSWERED,	/* over: answered, left by the peer, or late */
};

/*
 * Greet the peer on fd (kept open) within ms milliseconds.  refuse is the HTTP
 * status that answers whatever it asks, or 0; is_ready is what /readyz tells.
 */
enum greeting	 greet(int fd, uint64_t ms, int refuse, bool is_ready);

/* The same where there is no WebSocket, but /metrics. */
void		 greet_metrics(int fd, uint64_t ms, int refuse, bool is_ready,
		    const Ipc__Figures *f);

#endif
