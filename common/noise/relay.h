/*
 * The clear frames in which the rendezvous carries streams (proto/relay.proto,
 * PROTOCOL 12.5).  Pure.
 */
#ifndef COMMON_NOISE_RELAY_H
#define COMMON_NOISE_RELAY_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "common/limit.h"
#include "common/span.h"

/* The only reason that is ever given. */
#define RELAY_REASON	"noise_relay_protocol_error"

/* What a frame adds to its payload at most. */
#define RELAY_ROOM	(LIMIT_RELAY_STREAM_ID + 64)

enum relay_kind {
	RELAY_DATA,
	RELAY_ACK,		/* ignored */
	RELAY_RESUME,		/* a harness claims its stream; ignored */
	RELAY_RESET,
	RELAY_HEARTBEAT,	/* ignored */
	RELAY_HANDSHAKE
};

struct relay_frame {
	enum relay_kind	 kind;
	struct span	 id;		/* of the stream, see relay_decode() */
	uint32_t	 seq;		/* of RELAY_DATA; next of a resume */
	const uint8_t	*payload;	/* data, handshake; reason of a reset */
	size_t		 len;
	void		*memory;	/* private */
};

/*
 * Read a message of len bytes.  What f points at lives until relay_free().
 * 0, or -1 with errno, the frame being one to drop without an answer (f needs
 * no relay_free() then): EMSGSIZE (above LIMIT_RELAY_MESSAGE), ENOMEM, EPROTO
 * for all else that PROTOCOL 12.5 names, and for text that is not UTF-8.
 *
 * The id is not empty, not blank, up to LIMIT_RELAY_STREAM_ID bytes of UTF-8
 * without control characters, so that it may stand in an HTTP header; apart
 * from that it is any text.
 */
int	 relay_decode(struct relay_frame *f, const void *data, size_t len)
	    __attribute__((warn_unused_result));
void	 relay_free(struct relay_frame *f);

/*
 * Write f (a reset: with its reason) to size bytes at out.  Returns the
 * length, at most RELAY_ROOM more than the payload, or -1 with errno EMSGSIZE.
 */
ssize_t	 relay_encode(const struct relay_frame *f, uint8_t *out, size_t size)
	    __attribute__((warn_unused_result));

#endif
