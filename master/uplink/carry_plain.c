/*
 * RemoteTransport plain (PROTOCOL 12.8): the websocket is one connection, a
 * text message is a JSON-RPC message.
 */
#include "master/uplink/carrier.h"
#include "master/uplink/carrier_priv.h"

#include <string.h>

/* The connection is all that the websocket carries. */
static void
carry_plain_end(struct carrier_stream *f)
{
	f->carrier->line->fail(f->carrier->line_arg);
}

/*
 * Open the stream when the harness sends something, not before: a worker waits
 * for a limited time only.
 */
static void
carry_plain_on_message(struct carrier *c, uint8_t *data, size_t len,
    bool is_binary)
{
	struct carrier_stream	*f = TAILQ_FIRST(&c->streams);

	(void)is_binary;
	if ((f == NULL && (f = carrier_stream_new(c)) == NULL) ||
	    carrier_stream_put(f, data, len) == -1)
		c->line->fail(c->line_arg);
}

static ssize_t
carry_plain_seal(struct carrier_stream *f, const uint8_t *data, size_t len,
    uint8_t **frame_out)
{
	if (!carrier_stream_begins(f, len, frame_out))
		return 0;
	if (*frame_out == NULL)
		return -1;
	memcpy(*frame_out, data, len);
	return (ssize_t)len;
}

const struct carrier_ops carry_plain = {
	sizeof(struct carrier), false, carrier_init, carrier_fini,
	    carry_plain_on_message,
	carrier_stream_first, carrier_stream_drop, carry_plain_seal,
	    carry_plain_end
};
