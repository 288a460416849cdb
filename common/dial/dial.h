/*
 * An outgoing connection of libwebsockets: resolves the name, tries each
 * address, uses the proxy that the environment names; within a time limit.
 */
#pragma once

#include "common/dial/resolve.h"
#include "common/dial/wsloop.h"
#include "common/net/target.h"

/* What connections share.  Embedded; members are private. */
struct dialer {
	struct wsloop		*loop;
	struct resolver		*resolver;
	/* libwebsockets has a proxy for each vhost: [1] is for TLS. */
	struct lws_vhost	*direct, *proxied[2];
	struct proxy_env	 env;		/* owned */
	/* Requests in libwebsockets' buffer, to be wiped. */
	uint8_t			*head, *head_end;
	struct wsloop_timer	 wipe;
};

/*
 * Move the proxy variables out of the environment, before libwebsockets reads
 * them in wsloop_init().  0, or -1 with errno ENOMEM.
 */
int	 dialer_take_env(struct dialer *d) MUST_CHECK;

/*
 * Read the CA certificates: ca_file, or the system's if it is empty.  0, or -1
 * after a line in the log, with errno of the file, or 0: it has none.
 */
int	 dialer_init(struct dialer *d, struct wsloop *l, struct resolver *r,
	    const char *ca_file) MUST_CHECK;
void	 dialer_fini(struct dialer *d);

/* NULL, or an error text: the proxy for t is of an unsupported kind. */
const char	*dialer_trouble(const struct dialer *d, const struct target *t);

struct dial;

struct dial_events {
	/*
	 * A callback of libwebsockets (lws-callbacks.h); not 0 closes the
	 * connection.  May free the dial.
	 */
	int	(*on_event)(void *arg, struct lws *wsi,
		    enum lws_callback_reasons reason, void *in, size_t len);
	/*
	 * The connection failed or ended: free the dial.  status is of HTTP;
	 * 0: no answer.  why is printable, and may come from the peer.
	 */
	void	(*on_end)(void *arg, unsigned status, const char *why);
};

/*
 * Begin to connect.  method is "POST", or NULL for a WebSocket; on_end follows
 * after ms milliseconds without dial_done().  t is copied.  NULL with errno.
 */
struct dial	*dial_new(struct dialer *d, const struct target *t,
		    const char *method, uint64_t ms,
		    const struct dial_events *events, void *arg);

/* Whether the peer's certificate was refused. */
bool		 dial_is_distrusted(const struct dial *c);

/* End the time limit. */
void		 dial_done(struct dial *c);

/* Close the connection; no event follows. */
void		 dial_free(struct dial **cp);
