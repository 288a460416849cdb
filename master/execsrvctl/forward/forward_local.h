/* Sockets of forwarded connections on this machine. */
#pragma once

#include <stddef.h>

#include "common/attributes.h"
#include "master/execsrvctl/forward/forward_spec.h"

#define FORWARD_LISTENERS	4	/* of a name with several addresses */

/* Non-blocking; port 0: all at the first one's.  How many; 0: told why. */
size_t	 forward_local_listen(struct forward_end *from,
	    int fds_out[FORWARD_LISTENERS]);

/*
 * Begin to connect to the address of that number.  -1 with errno: try the next;
 * ENOENT: there are no more.  *why_out: of a name without any, or NULL.
 */
int	 forward_local_connect(const struct forward_end *to, size_t number,
	    const char **why_out) MUST_CHECK;
