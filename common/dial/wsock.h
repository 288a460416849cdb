/* A WebSocket client of libwebsockets: receives messages, sends frames. */
#pragma once

#include "common/buf.h"
#include "common/dial/dial.h"

struct wsock;

/* Only on_end may free the wsock. */
struct wsock_events {
	void	(*on_open)(void *arg);
	/* data: the wsock's, writable. */
	void	(*on_message)(void *arg, uint8_t *data, size_t len,
		    bool is_binary);
	/* wsock_send() until wsock_is_full(). */
	void	(*on_writable)(void *arg);
	void	(*on_pong)(void *arg);
	/* Or NULL; on_end follows.  code 1005: none (RFC 6455 section 7.4). */
	void	(*on_close)(void *arg, unsigned code, const char *words,
		    size_t len);
	/* As of struct dial_events: free the wsock. */
	void	(*on_end)(void *arg, unsigned status, const char *why);
};

/* Connect within ms; a message above max bytes ends it.  NULL with errno. */
struct wsock	*wsock_new(struct dialer *d, const struct target *t,
		    uint64_t ms, size_t max,
		    const struct wsock_events *events, void *arg);
void		 wsock_free(struct wsock **sp);

/* Right after wsock_new(): "Bearer ..."; one more, "name:".  Borrowed. */
void		 wsock_set_authorization(struct wsock *s, const char *text);

void		 wsock_set_header(struct wsock *s, const char *name,
		    const char *value);

/* Was the peer's certificate refused?  Also in on_end. */
bool		 wsock_is_distrusted(const struct wsock *s);

/* clock_ms() of the last receipt. */
uint64_t	 wsock_last_received(const struct wsock *s);

/* Call on_writable once. */
void		 wsock_want(struct wsock *s);

/* Whether to stop sending until the next on_writable. */
bool		 wsock_is_full(struct wsock *s);

/* Not a text; not the last frame of its message; not the first. */
#define WSOCK_BINARY	(1 << 0)
#define WSOCK_MORE	(1 << 1)
#define WSOCK_CONTINUED	(1 << 2)

#define WSOCK_FRAME	(64 * 1024)	/* bytes of a frame of a text */

/* A text being sent.  Embedded; zeroed. */
struct wsock_text {
	size_t	 sent;
	uint8_t	 room[LWS_PRE + WSOCK_FRAME];
};

/* Send its next frame, in on_writable only.  True: the last. */
bool		 wsock_send_text(struct wsock *s, struct wsock_text *t,
		    const uint8_t *data, size_t len);

/* In on_writable only; changes data and LWS_PRE bytes before. */
void		 wsock_send(struct wsock *s, uint8_t *data, size_t len,
		    int flags);
void		 wsock_ping(struct wsock *s);
void		 wsock_pong(struct wsock *s);	/* unsolicited */

/* Whether to receive; at first: yes. */
void		 wsock_read(struct wsock *s, bool wanted);

/* In on_writable only; on_end follows its answer. */
void		 wsock_close(struct wsock *s);

/* Close inside an event; on_end follows. */
void		 wsock_fail(struct wsock *s);

/* For setsockopt(2) in on_open. */
int		 wsock_fd(struct wsock *s);
