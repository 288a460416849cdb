/*
 * A connection to a client, by WebSocket or lines on stdio.  Output is sent
 * once in a turn of the loop (conn_flush()).  A position counts payload bytes
 * sent; a receipt says that the client has read all before one.
 */
#pragma once

#include <sys/queue.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct conn;

/* In any the connection may be closed, freed in the last only. */
struct conn_events {
	/* text is writable, without NUL. */
	void	(*on_message)(void *arg, char *text, size_t len, bool is_utf8);
	/* The client has read all before pos. */
	void	(*on_receipt)(void *arg, uint64_t pos);
	/* Nothing is read until conn_allow() admits want bytes. */
	void	(*on_hungry)(void *arg, size_t want);
	/* No more messages; why: for the log.  Once. */
	void	(*on_end)(void *arg, const char *why);
	/* Only memory is left: free it.  Once, last. */
	void	(*on_gone)(void *arg, struct conn *c);
};

/* Takes an upgraded WebSocket.  NULL with errno: fd stays the caller's. */
struct conn	*conn_ws_new(struct event_base *base, int fd,
		    const struct conn_events *events, void *arg);

/* Takes both.  NULL with errno. */
struct conn	*conn_stdio_new(struct event_base *base, int in, int out,
		    const struct conn_events *events, void *arg);

void	 conn_free(struct conn **cp);

/* Read no byte beyond a message: the descriptor can be passed on. */
void	 conn_set_exact(struct conn *c, bool exact);

/* In this message; the reference would refuse a frame above LIMIT_FRAME. */
bool	 conn_has_long_frame(const struct conn *c);

/* Of an incomplete message: limit what is held (at first none); get it. */
void	 conn_allow(struct conn *c, size_t max);
size_t	 conn_unfinished(const struct conn *c);

/* Stop or resume reading and on_message. */
void	 conn_pause(struct conn *c, bool paused);

/* Read nothing for ms: the client is too fast. */
void	 conn_slow(struct conn *c, unsigned ms);

/* To pass the descriptor on: get it, end without a close frame.  Exact mode. */
int	 conn_fd(const struct conn *c);
void	 conn_abandon(struct conn *c);

/* len is below LIMIT_FRAME; fill before conn_commit().  NULL: it has ended. */
char	*conn_begin(struct conn *c, size_t len) MUST_CHECK;
void	 conn_commit(struct conn *c);

/* Up to LIMIT_MESSAGE bytes; b's memory is taken.  -1: it has ended. */
int	 conn_send(struct conn *c, const char *text, size_t len);
int	 conn_send_buf(struct conn *c, struct buf *b);

/*
 * A message generated in parts.  Embedded.
 *
 * Up to LIMIT_OUT_READING bytes become a frame in conn_send_source(), more
 * while the client reads: later messages wait (RFC 6455 does not interleave),
 * requests are processed.
 */
struct conn_source {
	/* The next n bytes. */
	void	(*write)(struct conn_source *src, char *at, size_t n);
	/* Not needed any more.  In any send.  NULL: short ones only. */
	void	(*free)(struct conn_source *src);

	/* Private: */
	TAILQ_ENTRY(conn_source) entry;
	size_t	 len, left;	/* of the message; not yet written */
	uint64_t pos;		/* before the message */
	struct buf behind;	/* messages that wait for it */
};

/* Takes src of len bytes, 1 to LIMIT_MESSAGE.  -1: it has ended. */
int	 conn_send_source(struct conn *c, struct conn_source *src, size_t len);

/*
 * Bulk may wait: output of processes, bodies of HTTP.  As much is in flight as
 * keeps the line busy (common/net/inflight.h), since nothing is sent out of
 * turn.
 *
 * Send more?  How much as one message, at most max?  The last message was bulk.
 */
bool	 conn_has_room(const struct conn *c);
size_t	 conn_piece(const struct conn *c, size_t max);
void	 conn_sent_bulk(struct conn *c, size_t len);

/* Bytes queued; those behind the current long message. */
size_t	 conn_queued(const struct conn *c);

size_t	 conn_behind(const struct conn *c);

uint64_t conn_pos(const struct conn *c);

/* Ask for one for the current position. */
void	 conn_ask_receipt(struct conn *c);

/* End it if the client is silent for ms more. */
void	 conn_probe(struct conn *c, uint64_t ms);

/* By an uplink, which answers pings: conn_probe() then wants messages. */
void	 conn_set_relayed(struct conn *c);

/* Send what is queued; once in each turn of the loop. */
void	 conn_flush(struct conn *c);

/* Free spare memory; not while the caller handles a message. */
void	 conn_trim(struct conn *c);

/* Send a close frame (RFC 6455 section 7.4), end. */
void	 conn_close(struct conn *c, uint16_t code, const char *why);
