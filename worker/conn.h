/*
 * A connection to a client, whatever carries it: messages in, messages out,
 * and receipts for what the client has read.
 *
 * Output is collected and sent once in a turn of the loop (conn_flush()).
 * A position counts the payload bytes put on the connection; a receipt for a
 * position says that the client has read everything before it.
 */
#ifndef WORKER_CONN_H
#define WORKER_CONN_H

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;

/* What the owner hears.  It may close the connection there, not free it. */
struct conn_events {
	/* A message; text is writable and followed by nothing. */
	void	(*on_message)(void *arg, char *text, size_t len, bool is_utf8);
	/* A receipt for everything before pos. */
	void	(*on_receipt)(void *arg, uint64_t pos);
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
 * Greeting: read message by message and never a byte beyond, and none longer
 * than LIMIT_FIRST_MESSAGE, so that the descriptor can be handed over in
 * between.
 */
void	 conn_set_exact(struct conn *c, bool exact);

/* Stop or go on handing out messages (and reading them). */
void	 conn_pause(struct conn *c, bool paused);

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
 * The same for a long message that is written part by part, len bytes in all:
 * what is written is sent on the way, so that it never stands whole in
 * memory. conn_part() gives room for n bytes more, or NULL as above: then the
 * rest need not be written. The last part is followed by conn_finish().
 */
int	 conn_start(struct conn *c, size_t len)
	    __attribute__((warn_unused_result));
char	*conn_part(struct conn *c, size_t n)
	    __attribute__((warn_unused_result));
void	 conn_part_done(struct conn *c, size_t n);
void	 conn_finish(struct conn *c);

/*
 * Send a message of up to LIMIT_MESSAGE bytes, in fragments if it must be.
 * 0, or -1: the connection is over.
 */
int	 conn_send(struct conn *c, const char *text, size_t len);

/* Bytes waiting to be given to the kernel. */
size_t	 conn_queued(const struct conn *c);

/* The position now. */
uint64_t conn_pos(const struct conn *c);

/* Ask for a receipt for the position now. */
void	 conn_ask_receipt(struct conn *c);

/*
 * End it unless the client gives a sign of life within ms milliseconds;
 * on_end says so.
 */
void	 conn_probe(struct conn *c, uint64_t ms);

/* Send what is waiting.  Call once in each turn of the loop. */
void	 conn_flush(struct conn *c);

/* Say goodbye with a close code (RFC 6455 section 7.4) and end. */
void	 conn_close(struct conn *c, uint16_t code, const char *why);

/* Give memory back that was needed in a rush. */
void	 conn_trim(struct conn *c);

#endif
