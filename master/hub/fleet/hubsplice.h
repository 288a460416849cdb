/*
 * A harness at one hub whose executor is at another: the request is sent there
 * once more, and bytes go both ways as they come.  Whoever reads slowly holds
 * up who sends, here as on one connection.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/net/endpoint.h"
#include "common/repeat.h"
#include "master/hub/relay/door.h"

#define HUBSPLICE_ROOM	(128 * 1024)

/* Another hub, as it is reached from here. */
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
 * Send on a request, *dp, which is over then.  tls and name: for one that has
 * TLS, what its certificate is judged by.
 */
void	 hubsplice_start(struct hubsplices *all, struct door **dp,
	    const struct hubsplice_to *to, SSL_CTX *tls, const char *name);
