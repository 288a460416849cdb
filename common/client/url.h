/* The address that a URL names.  Pure. */
#pragma once

#include <sys/socket.h>

#include <stdbool.h>

#include "common/client/execsrv.h"
#include "common/net/endpoint.h"

struct execsrv_address {
	union endpoint_address	 addr;
	socklen_t		 len;
	bool			 is_local;
	bool			 is_name;	/* "localhost": try IPv6, too */
	char			 host[80];	/* the Host line, with port */
	char			 path[512];	/* path and query */
};

/* 0, or -1 with the reason in e. */
int	 execsrv_address_parse(const char *text, struct execsrv_address *a,
	    struct execsrv_error *e) MUST_CHECK;

/* Replace the IPv4 loopback address by the IPv6 one, on the same port. */
void	 execsrv_address_v6(struct execsrv_address *a);
