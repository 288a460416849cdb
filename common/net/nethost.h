/* Hosts of requests: canonical text; is it local?  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"

#define NETHOST_MAX	256	/* bytes with NUL */
#define NETADDR_EMBEDDED 4	/* in one of IPv6, at most */

/* An address; family 0: none. */
struct netaddr {
	int	 family;	/* AF_INET or AF_INET6 */
	uint8_t	 byte[16];	/* network order; of IPv4 the first four */
};

/* A name or an address. */
struct nethost {
	char		 text[NETHOST_MAX];
	struct netaddr	 addr;			/* if it is an address */
};

/*
 * text, in brackets or not: lower case, no final dots, IPv6 as RFC 5952, but
 * ::a.b.c.d in hexadecimal.  -1: errno EINVAL (empty, too long, an empty label,
 * other characters, such as a scope id's).
 */
int	 nethost_set(struct nethost *h, const char *text, size_t len)
	    MUST_CHECK;

bool	 nethost_is_name(const struct nethost *h);

/* localhost, or a local address. */
bool	 nethost_is_local(const struct nethost *h);

/*
 * Not of the public network: loopback, private, link-local, multicast,
 * reserved, for documentation; also IPv6 that leads to such an IPv4 address.
 */
bool	 netaddr_is_local(const struct netaddr *a);

/*
 * The IPv4 addresses that an IPv6 one may lead to (mapped, compatible,
 * translated, NAT64, 6to4, Teredo, ISATAP).  Return how many.
 */
size_t	 netaddr_embedded(const struct netaddr *a,
	    struct netaddr out[NETADDR_EMBEDDED]);

/* Canonical. */
void	 netaddr_text(const struct netaddr *a, char out[NETHOST_MAX]);

/* "HOST:PORT" with brackets where needed, no port if it is but.  Return out. */
const char	*nethost_authority(const struct nethost *h, uint16_t port,
		    uint16_t but, char out[NETHOST_MAX + 16]);
