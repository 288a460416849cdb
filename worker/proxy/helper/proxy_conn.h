/*
 * A command's connection to its proxy: HTTP (forwarding and CONNECT), SOCKS5,
 * or a bridge to a loopback port.
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

/* By all processes. */
struct proxy_shared {
	struct event_base	*base;
	struct proxy_names	*names;
	struct proxy_env	 upstream;	/* proxies of the environment */
	char			*scratch;	/* LIMIT_NET_BUFFER bytes */
	int			 pipe[2];	/* empty; see proxy_splice() */
	uint64_t		 last_question;
};

struct proxy_events {
	/* proxy_conn_answer() follows, or never. */
	void	(*on_ask)(void *arg, const Ipc__ProxyAsk *ask);
	void	(*on_decision)(void *arg, const Ipc__ProxyDecision *d);
	void	(*on_end)(void *arg);
	/* Read no further request now. */
	bool	(*is_full)(void *arg);
};

/* Of a process. */
struct proxy_net {
	struct proxy_shared	*shared;
	const struct proxy_events *events;
	void			*arg;
	struct netrules		 rules;
	bool			 uses_upstream;
	TAILQ_HEAD(, proxy_conn) conns;
	unsigned		 n;
};

/* fd is taken; from: who connected; port: of a bridge.  -1 with errno. */
int	 proxy_conn_start(struct proxy_net *net, int fd,
	    const struct sockaddr_in *from, Ipc__ProxyKind kind, uint16_t port)
	    MUST_CHECK;

/* Ignored if the connection has ended. */
void	 proxy_conn_answer(struct proxy_net *net, uint64_t question,
	    Ipc__ProxyVerdict verdict, const char *reason);

/* At once. */
void	 proxy_conn_end_all(struct proxy_net *net);

/* !is_full() again. */
void	 proxy_conn_go_on(struct proxy_net *net);
