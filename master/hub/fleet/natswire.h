/*
 * The text protocol of a NATS server, as far as a client of core NATS needs it
 * (docs.nats.io, "Client Protocol").  Pure, strict: whatever is not of this
 * form ends the connection.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/span.h"

#define NATSWIRE_LINE_MAX	4096		/* bytes; INFO: */
#define NATSWIRE_INFO_MAX	(32 * 1024)
#define NATSWIRE_DATA_MAX	(1024 * 1024)	/* of a message and its head */
#define NATSWIRE_NOBODY		503		/* nobody subscribes to it */

enum natswire_op {
	NATSWIRE_PART,		/* incomplete */
	NATSWIRE_INFO,		/* data: JSON */
	NATSWIRE_MSG,
	NATSWIRE_PING,
	NATSWIRE_PONG,
	NATSWIRE_OK,
	NATSWIRE_ERR,		/* data: what the server says */
	NATSWIRE_BAD
};

struct natswire {
	enum natswire_op	 op;
	struct span		 subject, reply;	/* reply: or absent */
	struct span		 data;
	int			 status;	/* of a message's head, or 0 */
};

/*
 * Read the first operation, whose spans lead into the text: how many bytes it
 * takes; 0: incomplete, or bad.
 */
size_t	 natswire_read(const char *text, size_t len, struct natswire *out);

/* Append an operation.  0, or -1 with errno.  reply NULL: none. */
int	 natswire_sub(struct buf *b, const char *subject, const char *sid)
	    MUST_CHECK;
int	 natswire_unsub(struct buf *b, const char *sid) MUST_CHECK;
int	 natswire_pub(struct buf *b, const char *subject, const char *reply,
	    const void *data, size_t len) MUST_CHECK;

/* Whether it is a subject without wildcards: tokens with dots between. */
#define NATSWIRE_SUBJECT_MAX	256
int	 natswire_is_subject(struct span text);
