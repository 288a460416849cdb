/*
 * A WebSocket client of libwebsockets: whole messages in, frames out.
 */
#ifndef MASTER_UPLINK_WSOCK_H
#define MASTER_UPLINK_WSOCK_H

#include "common/buf.h"
#include "master/uplink/dial.h"

struct wsock;

/* None may free the wsock but on_end. */
struct wsock_events {
	void	(*on_open)(void *arg);
	/* The bytes are the wsock's, and may be written to. */
	void	(*on_message)(void *arg, uint8_t *data, size_t len,
		    bool is_binary);
	/* There is room: wsock_send() until wsock_is_full(). */
	void	(*on_writable)(void *arg);
	void	(*on_pong)(void *arg);
	/* No connection, or no more: free it.  As of struct dial_events. */
	void	(*on_end)(void *arg, unsigned status, const char *why);
};

/*
 * Connect to t within ms milliseconds; a message above max bytes ends it.
 * NULL with errno.
 */
struct wsock	*wsock_new(struct dialer *d, const struct target *t,
		    uint64_t ms, size_t max,
		    const struct wsock_events *events, void *arg);
void		 wsock_free(struct wsock **sp);

/* Hear on_writable once. */
void		 wsock_want(struct wsock *s);

/* Whether to stop sending until the next on_writable. */
bool		 wsock_is_full(struct wsock *s);

/* What a frame is: text or binary, of a message that goes on, or continued. */
#define WSOCK_BINARY	(1 << 0)
#define WSOCK_MORE	(1 << 1)
#define WSOCK_CONTINUED	(1 << 2)

/*
 * Send a frame, in on_writable only; the LWS_PRE bytes in front of data and
 * data itself are written to.
 */
void		 wsock_send(struct wsock *s, uint8_t *data, size_t len,
		    int flags);
void		 wsock_ping(struct wsock *s);

/* Whether to take messages (at first: yes). */
void		 wsock_read(struct wsock *s, bool wanted);

/* End it from inside an event; on_end follows. */
void		 wsock_fail(struct wsock *s);

/* The socket, to set what libwebsockets does not; in on_open. */
int		 wsock_fd(struct wsock *s);

#endif
