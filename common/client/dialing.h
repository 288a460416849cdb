/* The first steps of a connection: from an opening to a transport. */
#pragma once

#include "common/client/opening.h"
#include "common/client/transport/transport.h"

/* Connect, or start execsrv-reach: CONNECTING; 0, or -1 with errno. */
int	 dialing_start(struct opening *o, struct transport *t) MUST_CHECK;

/*
 * It is connected: request the WebSocket, or tell execsrv-reach what to reach;
 * a child that is the server is up.  -1: errno; EPIPE if the transport told of
 * it.
 */
int	 dialing_greet(struct opening *o, struct transport *t) MUST_CHECK;

/*
 * Read the answer of execsrv-reach.  1: the transport is up now; 0: it could
 * not reach the server, for the reason in why; -1: malformed.
 */
int	 dialing_read_hello(struct transport *t, char *text, size_t len,
	    char *why, size_t size, bool *is_permanent_out) MUST_CHECK;
