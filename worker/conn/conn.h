/*
 * A connection to a client, whatever carries it: messages in, messages out,
 * and receipts for what the client has read.
 *
 * Output is collected and sent once in a turn of the loop (conn_flush()).
 * A position counts the payload bytes put on the connection; a receipt for a
 * position says that the client has read everything before it.
 */
#ifndef WORKER_CONN_CONN_H
#define WORKER_CONN_CONN_H

#include <sys/queue.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct conn;

/* What the owner hears.  It may close the connection there, not free it. */
struct conn_events {
	/* A message; text is writable and followed by nothing. */
	void	(*on_message)(void *arg, char *text, size_t len, bool is_utf8);
	/* A receipt for everything before pos. */
	void	(*on_receipt)(void *arg, uint64_t pos);
	/*
	 * A message is longer than conn_allow() said, and no more of it is
	 * read: so many bytes are wanted at least.
	 */
	void	(*on_hungry)(void *arg, size_t want);
	/* No more messages will come or go; why is for the log.  Once. */
	void	(*on_end)(void *arg, const char *why);
	/* Nothing is left of it but memory: free it.  Once, last. */
	void	(*on_gone)(void *arg, struct conn *c);
};

/*
 * An upgraded WebSocket on fd, which becomes the connection's.  NULL with
 * errno (fd stays the caller's then).
 */
struct conn	*conn_ws_new(struct event_base *base, int fd,
		    const struct conn_events *events, void *arg);

/* Lines on in and out, which become the connection's.  As above. */
struct conn	*conn_stdio_new(struct event_base *base, int in, int out,
		    const struct conn_events *events, void *arg);

void	 conn_free(struct conn **cp);

/*
 * Greeting: read message by message and never a byte beyond, so that the
 * descriptor can be handed over in between.
 */
void	 conn_set_exact(struct conn *c, bool exact);

/*
 * Whether the message at hand came in a frame above LIMIT_FRAME, which the
 * reference does not take.
 */
bool	 conn_has_long_frame(const struct conn *c);

/*
 * How much of a message that is not whole may be held, bytes; at first any
 * amount.  What is there already stays.
 */
void	 conn_allow(struct conn *c, size_t max);
size_t	 conn_unfinished(const struct conn *c);

/* Stop or go on handing out messages (and reading them). */
void	 conn_pause(struct conn *c, bool paused);

/* It was too fast: nothing is read for so many milliseconds. */
void	 conn_slow(struct conn *c, unsigned ms);

/*
 * The descriptor, for another process to go on with; the connection is over
 * for this one without a word to the client.  Exact mode only.
 */
int	 conn_fd(const struct conn *c);
void	 conn_abandon(struct conn *c);

/*
 * Room for the payload of one message of exactly len bytes (below
 * LIMIT_FRAME), or NULL (the connection is over or memory is). Fill it, then
 * conn_commit().
 */
char	*conn_begin(struct conn *c, size_t len)
	    __attribute__((warn_unused_result));
void	 conn_commit(struct conn *c);

/*
 * The same for a message that is written part by part, len bytes in all: what
 * is written is sent on the way, if it can be, so that it need not stand whole
 * in memory. conn_part() gives room for n bytes more, or NULL as above: then
 * the rest need not be written. The last part is followed by conn_finish().
 */
int	 conn_start(struct conn *c, size_t len)
	    __attribute__((warn_unused_result));
char	*conn_part(struct conn *c, size_t n)
	    __attribute__((warn_unused_result));
void	 conn_part_done(struct conn *c, size_t n);
void	 conn_finish(struct conn *c);

/*
 * Send a message of up to LIMIT_MESSAGE bytes; those of b are taken, b is empty
 * then. 0, or -1: the connection is over.
 */
int	 conn_send(struct conn *c, const char *text, size_t len);
int	 conn_send_buf(struct conn *c, struct buf *b);

/*
 * A long message, which is written part by part while the client reads it.
 * Messages that are sent later wait behind it (RFC 6455 does not let them in
 * between), but the loop goes on, and requests are still read and done.  Meant
 * for what is above LIMIT_OUT_READING; conn_send() does it by itself.
 * Embedded by who sends it.
 */
struct conn_source {
	/* Write the next n bytes of the message. */
	void	(*write)(struct conn_source *src, char *at, size_t n);
	/* All is written, or no more will be.  Called inside any send. */
	void	(*free)(struct conn_source *src);

	/* The connection's: */
	TAILQ_ENTRY(conn_source) entry;
	size_t	 len, left;	/* of it; to be written */
	uint64_t pos;		/* before it */
	struct buf behind;	/* what waits until it is sent */
};

/*
 * Send the len bytes (above 0, up to LIMIT_MESSAGE) of a source with write and
 * free set; it becomes the connection's. 0, or -1: the connection is over.
 */
int	 conn_send_source(struct conn *c, struct conn_source *src, size_t len);

/* Bytes waiting to be given to the kernel. */
size_t	 conn_queued(const struct conn *c);

/* Those of them that are not of the long message being sent, if one is. */
size_t	 conn_behind(const struct conn *c);

/* The position now. */
uint64_t conn_pos(const struct conn *c);

/* Ask for a receipt for the position now. */
void	 conn_ask_receipt(struct conn *c);

/*
 * End it unless the client gives a sign of life within ms milliseconds;
 * on_end says so.
 */
void	 conn_probe(struct conn *c, uint64_t ms);

/*
 * An uplink carries it, and answers pings in its client's place: when somebody
 * wants to resume its session (conn_probe() for LIMIT_TAKEOVER) only a message
 * is a sign of life.  The rendezvous may not tell that a harness is gone.
 */
void	 conn_set_relayed(struct conn *c);

/* Send what is waiting.  Call once in each turn of the loop. */
void	 conn_flush(struct conn *c);

/* Say goodbye with a close code (RFC 6455 section 7.4) and end. */
void	 conn_close(struct conn *c, uint16_t code, const char *why);

/* Give memory back that was needed in a rush. */
void	 conn_trim(struct conn *c);

#endif
