/*
 * A WebSocket client of libwebsockets: whole messages in, frames out.
 */
#ifndef COMMON_DIAL_WSOCK_H
#define COMMON_DIAL_WSOCK_H

#include "common/buf.h"
#include "common/dial/dial.h"

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
	/*
	 * The other side says goodbye: code 1005 if it gave none (RFC 6455
	 * section 7.4), and len bytes of words.  May be NULL; on_end follows.
	 */
	void	(*on_close)(void *arg, unsigned code, const char *words,
		    size_t len);
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

/*
 * Show a credential, "Bearer ...", when it connects; right after wsock_new().
 * The text stays the caller's.
 */
void		 wsock_set_authorization(struct wsock *s, const char *text);

/* Whether it is not connected for its certificate; also in on_end. */
bool		 wsock_is_distrusted(const struct wsock *s);

/* When something was heard last (clock_ms()): of messages, each piece. */
uint64_t	 wsock_heard(const struct wsock *s);

/* Hear on_writable once. */
void		 wsock_want(struct wsock *s);

/* Whether to stop sending until the next on_writable. */
bool		 wsock_is_full(struct wsock *s);

/* What a frame is: text or binary, of a message that goes on, or continued. */
#define WSOCK_BINARY	(1 << 0)
#define WSOCK_MORE	(1 << 1)
#define WSOCK_CONTINUED	(1 << 2)

/* A text that is sent in frames of this size at most.  Embedded; all 0. */
#define WSOCK_FRAME	(64 * 1024)
struct wsock_text {
	size_t	 sent;
	uint8_t	 room[LWS_PRE + WSOCK_FRAME];
};

/*
 * Send the next frame of a text of len bytes, in on_writable only.  Whether it
 * is the last.
 */
bool		 wsock_send_text(struct wsock *s, struct wsock_text *t,
		    const uint8_t *data, size_t len);

/*
 * Send a frame, in on_writable only; the LWS_PRE bytes in front of data and
 * data itself are written to.
 */
void		 wsock_send(struct wsock *s, uint8_t *data, size_t len,
		    int flags);
void		 wsock_ping(struct wsock *s);
void		 wsock_pong(struct wsock *s);	/* without being asked */

/* Whether to take messages (at first: yes). */
void		 wsock_read(struct wsock *s, bool wanted);

/* Say goodbye, in on_writable only; on_end follows when it is answered. */
void		 wsock_close(struct wsock *s);

/* End it from inside an event; on_end follows. */
void		 wsock_fail(struct wsock *s);

/* The socket, to set what libwebsockets does not; in on_open. */
int		 wsock_fd(struct wsock *s);

#endif
