/* What a session's managed networks refused, and how often. */
#pragma once

#include <stdint.h>

#include "common/attributes.h"
#include "common/ev.h"
#include "common/limit.h"
#include "common/net/nethost.h"

#define NETREFUSED_WHY	64	/* bytes of a reason with NUL */

struct netrefused_row {
	char		 host[NETHOST_MAX];
	char		 why[NETREFUSED_WHY];
	uint16_t	 port;
	uint64_t	 count, untold;
};

/* Of untold ones. */
typedef void netrefused_fn(void *arg, const struct netrefused_row *row,
		    uint64_t count);

/* Embedded. */
struct netrefused {
	struct netrefused_row	*row;		/* made when needed */
	unsigned		 n;
	struct timer		 timer;
	netrefused_fn		*fn;
	void			*arg;
};

void	 netrefused_init(struct netrefused *r, struct event_base *base,
	    netrefused_fn *fn, void *arg);
void	 netrefused_fini(struct netrefused *r);

/* The first of its kind is told at once. */
void	 netrefused_add(struct netrefused *r, const char *host, uint16_t port,
	    const char *why);

void	 netrefused_flush(struct netrefused *r);
