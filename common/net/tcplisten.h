/*
 * Listening at a TCP port of all addresses of a name, as sshd(8) does;
 * localhost needs no hosts(5).
 */
#pragma once

#include <stddef.h>

#include "common/attributes.h"

#define TCPLISTEN_MAX	4		/* addresses of a name */

/*
 * Non-blocking sockets; port "0": one that is free at all addresses.  An
 * address whose family is off is left out.  How many; 0: *why_out says why not.
 */
size_t	 tcplisten(const char *name, const char *port,
	    int fds_out[TCPLISTEN_MAX], const char **why_out) MUST_CHECK;

/* The port of a socket, 0: it has none. */
unsigned tcplisten_port(int fd);
