/*
 * The worker's channel to execsrv-proxy, which has a session's managed
 * networks; it ends LIMIT_NET_UNUSED after the last.  It parses foreign data,
 * so is not trusted.  If it dies its processes have no network.
 */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/ipc/ipc.h"
#include "common/net/netrules.h"

struct helper;
struct proxy_link;
struct proxied;

struct proxied_events {
	/* For proxied_answer(). */
	void	(*on_ask)(struct proxied *p, const Ipc__ProxyAsk *ask);
	void	(*on_decision)(struct proxied *p,
		    const Ipc__ProxyDecision *d);
	/* Free it.  Once, last; is_lost: execsrv-proxy died. */
	void	(*on_gone)(struct proxied *p, bool is_lost);
};

/* Of a process.  Embedded. */
struct proxied {
	/* Private. */
	TAILQ_ENTRY(proxied)	 entry;
	struct proxy_link	*link;
	const struct proxied_events *events;
	uint64_t		 key;
	bool			 is_dropped;
};

struct proxy_listener {
	int		 fd;		/* stays the caller's */
	Ipc__ProxyKind	 kind;
	uint16_t	 port;		/* of a bridge */
};

struct proxy_wish {
	struct netrules		 rules;
	bool			 uses_upstream;
	bool			 checks_peer;	/* serve our user only */
};

/* O_PATH.  -1: not installed. */
int	 proxy_link_program(void) MUST_CHECK;

/* exe (or -1) is borrowed.  is_ending: a death is no news.  NULL with errno. */
struct proxy_link *proxy_link_new(struct event_base *base, int exe,
		    unsigned session, bool (*is_ending)(const void *),
		    const void *arg);

/* Calls on_gone of all. */
void	 proxy_link_free(struct proxy_link **lp);

/* -1 with errno: execsrv-proxy cannot be started. */
int	 proxy_link_add(struct proxy_link *l, struct proxied *p,
	    const struct proxied_events *events, const struct proxy_wish *w,
	    const struct proxy_listener *listeners, size_t n) MUST_CHECK;

void	 proxied_answer(struct proxied *p, uint64_t id,
	    Ipc__ProxyVerdict verdict, const char *reason);

/* The process is closed: cut its connections.  on_gone follows. */
void	 proxied_drop(struct proxied *p);

/* For those who reap it. */
struct helper *proxy_link_helper(struct proxy_link *l);
