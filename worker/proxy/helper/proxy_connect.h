/* Connect to the first of several addresses that answers (RFC 8305). */
#pragma once

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/net/nethost.h"
#include "worker/proxy/helper/proxy_names.h"

/* fd is the callee's; or -1, error.  Never during proxy_connect_start(). */
typedef void proxy_connect_fn(void *arg, int fd, int error);

struct proxy_connect;

/* NULL: no memory. */
struct proxy_connect	*proxy_connect_start(struct event_base *base,
			    const struct netaddr *list, size_t n,
			    uint16_t port, proxy_connect_fn *fn, void *arg);

/* fn is not called any more. */
void	 proxy_connect_stop(struct proxy_connect **cp);

/* Is an address of this machine?  By the routing table; sends nothing. */
bool	 proxy_connect_is_own(const struct netaddr *a);
