/* An outgoing connection of libwebsockets: name, addresses, proxy, time. */
#pragma once

#include "common/dial/resolve.h"
#include "common/dial/wsloop.h"
#include "common/net/target.h"

/* Shared by connections.  Embedded; private. */
struct dialer {
	struct wsloop		*loop;
	struct resolver		*resolver;
	/* One for each proxy: [1] is for TLS. */
	struct lws_vhost	*direct, *proxied[2];
	struct proxy_env	 env;		/* owned */
	/* Requests in libwebsockets' buffer, to be wiped. */
	uint8_t			*head, *head_end;
	struct wsloop_timer	 wipe;
};

/* Move the proxy variables out of the environment, before wsloop_init(). */
int	 dialer_take_env(struct dialer *d) MUST_CHECK;

/* ca_file, or "": the system's.  -1: logged; errno, 0: no certificate. */
int	 dialer_init(struct dialer *d, struct wsloop *l, struct resolver *r,
	    const char *ca_file) MUST_CHECK;
void	 dialer_fini(struct dialer *d);

/* NULL, or an error text: t's proxy is of an unsupported kind. */
const char	*dialer_trouble(const struct dialer *d, const struct target *t);

struct dial;

struct dial_events {
	/* lws-callbacks.h; not 0 closes the connection.  May free the dial. */
	int	(*on_event)(void *arg, struct lws *wsi,
		    enum lws_callback_reasons reason, void *in, size_t len);
	/* Free it.  status: HTTP's, or 0.  why: printable, maybe the peer's. */
	void	(*on_end)(void *arg, unsigned status, const char *why);
};

/*
 * Connect.  method: of HTTP, or NULL for a WebSocket; on_end follows after ms
 * without dial_done().  t is copied.  NULL with errno.
 */
struct dial	*dial_new(struct dialer *d, const struct target *t,
		    const char *method, uint64_t ms,
		    const struct dial_events *events, void *arg);

/* Was the peer's certificate refused? */
/* For on_event: add "name:" with a value.  0, or there is no room for it. */
int		 dial_put_field(struct lws *wsi, const char *name,
		    const char *value, uint8_t **p, uint8_t *end) MUST_CHECK;

/* For on_event: read of a body, which comes by LWS_..._HTTP_READ.  0, or -1. */
int		 dial_pull(struct lws *wsi) MUST_CHECK;

bool		 dial_is_distrusted(const struct dial *c);

/* End the time limit. */
void		 dial_done(struct dial *c);

/* No event follows. */
void		 dial_free(struct dial **cp);
