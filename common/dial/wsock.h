/* A WebSocket client of libwebsockets: receives messages, sends frames. */
#pragma once

#include "common/buf.h"
#include "common/dial/dial.h"

struct wsock;

/* Only on_end may free the wsock. */
struct wsock_events {
	void	(*on_open)(void *arg);
	/* data is the wsock's, and may be written to. */
	void	(*on_message)(void *arg, uint8_t *data, size_t len,
		    bool is_binary);
	/* Call wsock_send() until wsock_is_full(). */
	void	(*on_writable)(void *arg);
	void	(*on_pong)(void *arg);
	/*
	 * A close frame: code 1005 if it has none (RFC 6455 section 7.4), and
	 * len bytes of reason.  May be NULL; on_end follows.
	 */
	void	(*on_close)(void *arg, unsigned code, const char *words,
		    size_t len);
	/* As on_end of struct dial_events: free the wsock. */
	void	(*on_end)(void *arg, unsigned status, const char *why);
};

/*
 * Connect to t within ms milliseconds.  A message above max bytes ends the
 * connection.  NULL with errno.
 */
struct wsock	*wsock_new(struct dialer *d, const struct target *t,
		    uint64_t ms, size_t max,
		    const struct wsock_events *events, void *arg);
void		 wsock_free(struct wsock **sp);

/*
 * Send an Authorization header, "Bearer ...", the caller's.  Call right after
 * wsock_new().
 */
void		 wsock_set_authorization(struct wsock *s, const char *text);

/* Send one more header, "name:"; both are the caller's.  Likewise. */
void		 wsock_set_header(struct wsock *s, const char *name,
		    const char *value);

/* Whether the peer's certificate was refused; also in on_end. */
bool		 wsock_is_distrusted(const struct wsock *s);

/* Of the last receipt, clock_ms(). */
uint64_t	 wsock_last_received(const struct wsock *s);

/* Call on_writable once. */
void		 wsock_want(struct wsock *s);

/* Whether to stop sending until the next on_writable. */
bool		 wsock_is_full(struct wsock *s);

/* Flags of a frame: no text; not the last of its message; not the first. */
#define WSOCK_BINARY	(1 << 0)
#define WSOCK_MORE	(1 << 1)
#define WSOCK_CONTINUED	(1 << 2)

#define WSOCK_FRAME	(64 * 1024)	/* bytes of a frame of a text */

/* A text that is being sent.  Embedded; all 0. */
struct wsock_text {
	size_t	 sent;
	uint8_t	 room[LWS_PRE + WSOCK_FRAME];
};

/* Send the next frame of a text, in on_writable only.  True: the last. */
bool		 wsock_send_text(struct wsock *s, struct wsock_text *t,
		    const uint8_t *data, size_t len);

/* Send a frame, in on_writable only; data and LWS_PRE bytes before change. */
void		 wsock_send(struct wsock *s, uint8_t *data, size_t len,
		    int flags);
void		 wsock_ping(struct wsock *s);
void		 wsock_pong(struct wsock *s);	/* unsolicited */

/* Whether to receive (at first: yes). */
void		 wsock_read(struct wsock *s, bool wanted);

/* Send a close frame, in on_writable only; on_end follows its answer. */
void		 wsock_close(struct wsock *s);

/* Close the connection from inside an event; on_end follows. */
void		 wsock_fail(struct wsock *s);

/* For setsockopt(2) in on_open. */
int		 wsock_fd(struct wsock *s);
