/*
 * Connect to the first of several addresses that answers, as RFC 8305: the next
 * one is tried when one fails, or is slow.
 */
#pragma once

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/net/nethost.h"
#include "worker/proxy/helper/proxy_names.h"

/*
 * The connected socket, which is the callee's, or -1 and an errno.  Never
 * called by proxy_connect_start() itself.
 */
typedef void proxy_connect_fn(void *arg, int fd, int error);

struct proxy_connect;

/* NULL: no memory. */
struct proxy_connect	*proxy_connect_start(struct event_base *base,
			    const struct netaddr *list, size_t n,
			    uint16_t port, proxy_connect_fn *fn, void *arg);

/* Give up, fn is not called any more; NULL is fine. */
void	 proxy_connect_stop(struct proxy_connect **cp);

/*
 * Whether an address belongs to this machine: packets to it do not leave it.
 * Asks the routing table; sends nothing.
 */
bool	 proxy_connect_is_own(const struct netaddr *a);
