/*
 * The PROXY protocol, version 2, as a load balancer, or another hub, sends it
 * before anything else: the address of the client.  Pure.
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define PROXYV2_MAX	(16 + 512)	/* bytes that are read of it */

/*
 * Read one.  Return its length, and the client's address as text, empty if the
 * proxy speaks for itself (LOCAL) or of no IP; 0: incomplete; -1: it is none,
 * or too long.
 */
long	 proxyv2_read(const void *data, size_t len,
	    char address_out[INET6_ADDRSTRLEN]) MUST_CHECK;

/*
 * Write one for a client at an address, as text; "": for ourselves.  Return its
 * length.
 */
#define PROXYV2_WRITTEN	(16 + 36)
size_t	 proxyv2_write(const char *address, uint8_t out[PROXYV2_WRITTEN]);
