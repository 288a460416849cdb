/*
 * One outgoing connection of libwebsockets: the name is looked up, addresses
 * are tried one after another, through a proxy where the environment wants
 * one, and all of it has a time limit.
 */
#ifndef COMMON_DIAL_DIAL_H
#define COMMON_DIAL_DIAL_H

#include "common/dial/resolve.h"
#include "common/dial/wsloop.h"
#include "common/net/target.h"

/* How connections are made.  Embedded; members are private. */
struct dialer {
	struct wsloop		*loop;
	struct resolver		*resolver;
	/* A proxy is its vhost's: one in the clear, one for TLS. */
	struct lws_vhost	*direct, *proxied[2];
	struct proxy_env	 env;		/* owned */
	/* What requests left in libwebsockets' buffer, until it is wiped. */
	uint8_t			*head, *head_end;
	struct wsloop_timer	 wipe;
};

/*
 * Take what the environment says about proxies out of it, so that nothing else
 * reads it; before the loop is initialised.  0, or -1 with errno ENOMEM.
 */
int	 dialer_take_env(struct dialer *d) __attribute__((warn_unused_result));

/*
 * Make it ready: certificates (of ca_file, or of the system when that is
 * empty) are read here.  0, or -1 after a line in the log.
 */
int	 dialer_init(struct dialer *d, struct wsloop *l, struct resolver *r,
	    const char *ca_file) __attribute__((warn_unused_result));
void	 dialer_fini(struct dialer *d);

/*
 * What is said when the environment names a proxy of another kind for t, so
 * that nothing can ever be connected to there; or NULL.
 */
const char	*dialer_trouble(const struct dialer *d, const struct target *t);

struct dial;

struct dial_events {
	/*
	 * Something about the connection (lws-callbacks.h); not 0 closes it.
	 * It may free the dial.
	 */
	int	(*on_event)(void *arg, struct lws *wsi,
		    enum lws_callback_reasons reason, void *in, size_t len);
	/*
	 * There will be none, or it ended, and the dial is to be freed. status
	 * is of HTTP, 0 when nobody answered.  why is for the log: it may be
	 * the other side's words.
	 */
	void	(*on_end)(void *arg, unsigned status, const char *why);
};

/*
 * Begin.  method is "POST", or NULL for a WebSocket; it must be connected (of
 * a POST: answered) within ms milliseconds, see dial_done().  t is copied.
 * NULL with errno.
 */
struct dial	*dial_new(struct dialer *d, const struct target *t,
		    const char *method, uint64_t ms,
		    const struct dial_events *events, void *arg);

/* Whether somebody answered with a certificate that is not good. */
bool		 dial_is_distrusted(const struct dial *c);

/* It is connected: the time limit is over. */
void		 dial_done(struct dial *c);

/* End it and forget the pointer; nothing will be called any more. */
void		 dial_free(struct dial **cp);

#endif
