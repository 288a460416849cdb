/* A hub's connection to one of the NATS servers of the settings, made again. */
#pragma once

#include <stdbool.h>

#include "common/net/endpoint.h"
#include "master/hub/fleet/hubnames.h"
#include "master/hub/fleet/natscred.h"
#include "master/hub/fleet/natswire.h"
#include "master/hub/relay/hubconn.h"

#define NATSLINK_SERVERS	8
#define NATSLINK_HOST_MAX	256

/* nats://HOST:PORT, or tls:// if it has to be TLS. */
struct natslink_server {
	char		 host[NATSLINK_HOST_MAX];
	uint16_t	 port;
	bool		 needs_tls, is_name;
};

/* 0, or -1: it is none. */
int		 natslink_parse(struct natslink_server *s, const char *url)
		    MUST_CHECK;

struct natslink_how {
	struct event_base	*base;
	struct hubconn_loop	*conns;
	struct natslink_server	 server[NATSLINK_SERVERS];
	size_t			 nserver;
	struct natscred		*cred;		/* or NULL; the link's */
	SSL_CTX			*tls;		/* or NULL; a reference */
	struct hubnames		*names;		/* or NULL; the link's */
	const char		*name;		/* ours, for its lists */
};

/* None may free the link. */
struct natslink_events {
	void	(*on_up)(void *arg);
	void	(*on_down)(void *arg);
	void	(*on_message)(void *arg, const struct natswire *m);
	void	(*on_drained)(void *arg);	/* there is room again */
};

struct natslink;

/* Begin to connect.  NULL with errno ENOMEM; how stays the caller's then. */
struct natslink	*natslink_new(const struct natslink_how *how,
		    const struct natslink_events *e, void *arg);
void		 natslink_free(struct natslink **lp);
bool		 natslink_is_up(const struct natslink *l);
struct event_base *natslink_base(const struct natslink *l);

/* Without a connection they are lost. */
void		 natslink_send(struct natslink *l, const struct buf *b);

/* Bytes that wait to be sent. */
size_t		 natslink_queued(const struct natslink *l);

/* Something was not answered: find out soon whether the server lives. */
void		 natslink_doubt(struct natslink *l);
