/* Connections that a hub makes: to the engine, and to other hubs. */
#pragma once

#include <stdint.h>

#include "master/hub/relay/hubconn.h"

/* To a numeric address; events tell what fails later.  0, or -1 with errno. */
int	 hubdial(struct hubconn_loop *conns, const char *host, uint16_t port,
	    struct hubconn **out) MUST_CHECK;
