/* Frames of the rendezvous (proto/relay.proto, PROTOCOL 12.5).  Pure. */
#pragma once

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "common/limit.h"
#include "common/span.h"

/* The only one of a reset. */
#define RELAY_REASON	"noise_relay_protocol_error"

/* Of a frame, at most. */
#define RELAY_ROOM	(LIMIT_RELAY_STREAM_ID + 64)

enum relay_kind {
	RELAY_DATA,
	RELAY_ACK,		/* ignored */
	RELAY_RESUME,		/* ignored */
	RELAY_RESET,
	RELAY_HEARTBEAT,	/* ignored */
	RELAY_HANDSHAKE,
	RELAY_FLOW		/* of a hub of ours only */
};

struct relay_frame {
	enum relay_kind	 kind;
	struct span	 id;		/* of the stream */
	uint32_t	 seq;		/* of RELAY_DATA; next of a resume;
					   whether a flow is stopped */
	const uint8_t	*payload;	/* data, handshake; reason of a reset */
	size_t		 len;
	void		*memory;	/* private */
};

/*
 * Free with relay_free().  0, or -1 with errno, and to be ignored: EMSGSIZE
 * (above LIMIT_RELAY_MESSAGE), ENOMEM, EPROTO (invalid by PROTOCOL 12.5, not
 * UTF-8).  id is fit for an HTTP header: 1 to LIMIT_RELAY_STREAM_ID bytes, not
 * blank, no control characters.
 */
int	 relay_decode(struct relay_frame *f, const void *data, size_t len)
	    MUST_CHECK;
void	 relay_free(struct relay_frame *f);

/* Return up to f->len + RELAY_ROOM, or -1 with errno EMSGSIZE. */
ssize_t	 relay_encode(const struct relay_frame *f, uint8_t *out, size_t size)
	    MUST_CHECK;
