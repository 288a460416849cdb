/*
 * One connection of a command to its proxy: HTTP (forwarding and CONNECT),
 * SOCKS5, or a bridge to a port of loopback.
 *
 *	HEAD -> JUDGING -> CONNECTING [-> UPSTREAM] -> EXCHANGE -> HEAD ...
 *						    -> TUNNEL
 *	any -> CLOSING
 */
#pragma once

#include <sys/queue.h>

#include <netinet/in.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/ipc/ipc.h"
#include "common/net/netrules.h"
#include "common/net/target.h"
#include "worker/proxy/helper/proxy_names.h"

struct proxy_conn;

/* What the connections of all processes share. */
struct proxy_shared {
	struct event_base	*base;
	struct proxy_names	*names;
	struct proxy_env	 upstream;	/* proxies of the environment */
	char			*scratch;	/* LIMIT_NET_BUFFER bytes */
	int			 pipe[2];	/* empty; see proxy_splice() */
	uint64_t		 last_question;
};

struct proxy_events {
	/* Ask the client; proxy_conn_answer() follows, or never. */
	void	(*on_ask)(void *arg, const Ipc__ProxyAsk *ask);
	void	(*on_decision)(void *arg, const Ipc__ProxyDecision *d);
	/* The connection is freed. */
	void	(*on_end)(void *arg);
	/* Whether no further request may be read now. */
	bool	(*is_full)(void *arg);
};

/* The network of a process. */
struct proxy_net {
	struct proxy_shared	*shared;
	const struct proxy_events *events;
	void			*arg;
	struct netrules		 rules;
	bool			 uses_upstream;
	TAILQ_HEAD(, proxy_conn) conns;
	unsigned		 n;
};

/*
 * Serve an accepted connection, whose descriptor is taken; from: who connected;
 * port: of a bridge.  0, or -1 with errno.
 */
int	 proxy_conn_start(struct proxy_net *net, int fd,
	    const struct sockaddr_in *from, Ipc__ProxyKind kind, uint16_t port)
	    MUST_CHECK;

/* The answer to a question; one about an ended connection is ignored. */
void	 proxy_conn_answer(struct proxy_net *net, uint64_t question,
	    Ipc__ProxyVerdict verdict, const char *reason);

/* End all connections at once. */
void	 proxy_conn_end_all(struct proxy_net *net);

/* There is room for requests again (is_full()). */
void	 proxy_conn_go_on(struct proxy_net *net);
