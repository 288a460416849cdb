/* A network namespace for one command: loopback, listeners for the proxy. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"

#define NETNS_LISTENERS	16

struct netns {
	int	 ns;		/* for setns(2), or -1 */
	size_t	 n;
	struct {
		int	 fd;
		uint16_t port;
	}	 listener[NETNS_LISTENERS];
};

void	 netns_init(struct netns *s);
void	 netns_fini(struct netns *s);		/* closes all */

/*
 * With n listeners, owned by a user namespace that we joined; user -1:
 * listeners only, on this machine's loopback.  0, or -1 with errno;
 * netns_fini() in both cases.
 */
int	 netns_make(struct netns *s, int user, size_t n) MUST_CHECK;
