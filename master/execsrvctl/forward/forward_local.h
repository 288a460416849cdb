/* Sockets of forwarded connections on this machine. */
#pragma once

#include <stddef.h>

#include "common/attributes.h"
#include "common/net/tcplisten.h"
#include "master/execsrvctl/forward/forward_spec.h"

/* At a path, or as tcplisten(), which also sets the port.  0: told why. */
size_t	 forward_local_listen(struct forward_end *from,
	    int fds_out[TCPLISTEN_MAX]);

/*
 * Begin to connect to the address of that number.  -1 with errno: try the next;
 * ENOENT: there are no more.  *why_out: of a name without any, or NULL.
 */
int	 forward_local_connect(const struct forward_end *to, size_t number,
	    const char **why_out) MUST_CHECK;
