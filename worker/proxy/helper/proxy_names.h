/* Addresses of names, by c-ares: /etc/hosts, then DNS. */
#pragma once

#include <event2/event.h>

#include <stddef.h>

#include "common/net/nethost.h"

#define PROXY_NAMES_MAX	16	/* addresses of a name that are used */

struct proxy_names;
struct proxy_query;

/* n is 0: none, or late.  Never during proxy_names_find(). */
typedef void proxy_names_fn(void *arg, const struct netaddr *list, size_t n);

struct proxy_names	*proxy_names_new(struct event_base *base);
void			 proxy_names_free(struct proxy_names **np);

/* NULL: no memory. */
struct proxy_query	*proxy_names_find(struct proxy_names *n,
			    const char *name, proxy_names_fn *fn, void *arg);

/* fn is not called any more. */
void			 proxy_names_cancel(struct proxy_query **qp);
