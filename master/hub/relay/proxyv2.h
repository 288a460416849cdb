/* The PROXY protocol, version 2, of a load balancer or another hub.  Pure. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define PROXYV2_MAX	(16 + 512)	/* bytes that are read of it */

/*
 * Its length, and the client's address, empty if LOCAL or not IP; 0:
 * incomplete; -1: none, or too long.
 */
long	 proxyv2_read(const void *data, size_t len,
	    char address_out[INET6_ADDRSTRLEN]) MUST_CHECK;

/* Write one for a client's address, "": ourselves.  Return its length. */
#define PROXYV2_WRITTEN	(16 + 36)
size_t	 proxyv2_write(const char *address, uint8_t out[PROXYV2_WRITTEN]);
