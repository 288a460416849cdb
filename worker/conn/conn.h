/*
 * A connection to a client, by WebSocket or by lines on stdio: messages in and
 * out, and receipts for what the client has read.
 *
 * Output is collected and sent once in a turn of the loop (conn_flush()).  A
 * position is a count of payload bytes sent; a receipt for a position means
 * that the client has read all before it.
 */
#pragma once

#include <sys/queue.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct conn;

/* The owner may close the connection in any of these, but free it in none but
   the last. */
struct conn_events {
	/* A message; text is writable, without NUL. */
	void	(*on_message)(void *arg, char *text, size_t len, bool is_utf8);
	/* The client has read all before pos. */
	void	(*on_receipt)(void *arg, uint64_t pos);
	/*
	 * A message is longer than conn_allow() admits and needs at least want
	 * bytes; until then no more is read.
	 */
	void	(*on_hungry)(void *arg, size_t want);
	/* No more messages in or out; why is for the log.  Once. */
	void	(*on_end)(void *arg, const char *why);
	/* Only memory is left: free it.  Once, last. */
	void	(*on_gone)(void *arg, struct conn *c);
};

/* Takes over fd, an upgraded WebSocket.  NULL with errno, fd the caller's. */
struct conn	*conn_ws_new(struct event_base *base, int fd,
		    const struct conn_events *events, void *arg);

/* Takes over in and out, for lines.  NULL with errno. */
struct conn	*conn_stdio_new(struct event_base *base, int in, int out,
		    const struct conn_events *events, void *arg);

void	 conn_free(struct conn **cp);

/*
 * Read message by message and no byte beyond, so that the descriptor can be
 * passed on in between.
 */
void	 conn_set_exact(struct conn *c, bool exact);

/* Whether the current message has a frame above LIMIT_FRAME, which the
   reference would refuse. */
bool	 conn_has_long_frame(const struct conn *c);

/* Limit what is held of an incomplete message (at first unlimited); get it. */
void	 conn_allow(struct conn *c, size_t max);
size_t	 conn_unfinished(const struct conn *c);

/* Stop or resume reading and on_message. */
void	 conn_pause(struct conn *c, bool paused);

/* Read nothing for so many ms: the client is too fast. */
void	 conn_slow(struct conn *c, unsigned ms);

/* Pass the descriptor on: get it, then abandon the connection without a close
   frame.  Exact mode only. */
int	 conn_fd(const struct conn *c);
void	 conn_abandon(struct conn *c);

/*
 * Reserve a message of len bytes (below LIMIT_FRAME), to be filled before
 * conn_commit().  NULL: the connection has ended.
 */
char	*conn_begin(struct conn *c, size_t len) MUST_CHECK;
void	 conn_commit(struct conn *c);

/*
 * Send up to LIMIT_MESSAGE bytes; conn_send_buf() takes the memory of b.  0, or
 * -1: the connection has ended.
 */
int	 conn_send(struct conn *c, const char *text, size_t len);
int	 conn_send_buf(struct conn *c, struct buf *b);

/*
 * A message generated in parts, so that it need not be in memory as a whole.
 *
 * Up to LIMIT_OUT_READING bytes become one frame, generated and sent before
 * conn_send_source() returns.  More are generated while the client reads them:
 * later messages wait for the end (RFC 6455 does not interleave), but requests
 * are processed.  conn_send() uses that for long messages by itself.
 *
 * Embedded.
 */
struct conn_source {
	/* Write the next n bytes. */
	void	(*write)(struct conn_source *src, char *at, size_t n);
	/*
	 * All is written, or the rest is not needed.  Called in any send.
	 * NULL: nothing to free, up to LIMIT_OUT_READING bytes only.
	 */
	void	(*free)(struct conn_source *src);

	/* Private: */
	TAILQ_ENTRY(conn_source) entry;
	size_t	 len, left;	/* of the message; not yet written */
	uint64_t pos;		/* before the message */
	struct buf behind;	/* messages that wait for it */
};

/*
 * Send a source with write and free set, of len bytes (1 to LIMIT_MESSAGE),
 * which is taken over.  0, or -1: the connection has ended.
 */
int	 conn_send_source(struct conn *c, struct conn_source *src, size_t len);

/*
 * Bulk is what may wait: output of processes, bodies of HTTP.  So much of it is
 * in flight as keeps the line busy (common/net/inflight.h), since answers and
 * other events go behind it: nothing is sent out of turn.
 *
 * Whether to send more; how much as one message, at most max; and that the last
 * message was bulk.
 */
bool	 conn_has_room(const struct conn *c);
size_t	 conn_piece(const struct conn *c, size_t max);
void	 conn_sent_bulk(struct conn *c, size_t len);

/* Count the bytes queued; those not of the current long message. */
size_t	 conn_queued(const struct conn *c);

size_t	 conn_behind(const struct conn *c);

uint64_t conn_pos(const struct conn *c);

/* Ask for a receipt for the current position. */
void	 conn_ask_receipt(struct conn *c);

/* End the connection if the client is silent for ms more. */
void	 conn_probe(struct conn *c, uint64_t ms);

/*
 * The connection is relayed by an uplink, which answers pings itself: when
 * another client wants the session (conn_probe()), only messages prove that the
 * harness is alive.
 */
void	 conn_set_relayed(struct conn *c);

/* Send what is queued.  Call once in each turn of the loop. */
void	 conn_flush(struct conn *c);

/* Free spare memory; not while the caller handles a message. */
void	 conn_trim(struct conn *c);

/* Send a close frame (RFC 6455 section 7.4) and end. */
void	 conn_close(struct conn *c, uint16_t code, const char *why);
