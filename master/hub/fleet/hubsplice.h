/*
 * A harness at one hub whose executor is at another: the request is sent there,
 * and bytes go both ways.  Whoever reads slowly holds up who sends.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/net/endpoint.h"
#include "common/repeat.h"
#include "master/hub/relay/door.h"

#define HUBSPLICE_ROOM	(128 * 1024)

struct hubsplice_to {
	char		 host[64];
	uint16_t	 port;
	bool		 is_tls;
	bool		 is_proxied;	/* it expects the PROXY protocol */
};

struct hubsplices {
	struct hubconn_loop		*conns;
	LIST_HEAD(, hubsplice)		 open;
	size_t				 n;
	uint64_t			 bytes;
	struct repeat			 said;		/* in the log */
	uint8_t				 room[HUBSPLICE_ROOM];
};

/* http://IP:PORT or https://IP:PORT.  0, or -1: it is none. */
int	 hubsplice_parse(struct hubsplice_to *to, const char *url) MUST_CHECK;

/* Whether a request comes from such a one: it is not sent on again. */
bool	 hubsplice_is_sent_on(const struct door *d);

void	 hubsplices_init(struct hubsplices *all, struct hubconn_loop *conns);
void	 hubsplices_fini(struct hubsplices *all);

/*
 * Send on a request, which ends *dp.  tls: for https, whose certificate is for
 * name.
 */
void	 hubsplice_start(struct hubsplices *all, struct door **dp,
	    const struct hubsplice_to *to, SSL_CTX *tls, const char *name);
