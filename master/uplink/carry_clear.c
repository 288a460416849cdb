/*
 * RemoteTransport relay (PROTOCOL 12.8): streams as relay frames in the clear.
 * A frame is a message; a stream begins with its first frame.
 */
#include "master/uplink/carrier.h"
#include "master/uplink/carrier_priv.h"

#include <string.h>

#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/log.h"

static struct carrier_stream *
carry_clear_find(struct carrier *c, struct span id)
{
	struct carrier_stream	*f;

	TAILQ_FOREACH(f, &c->streams, entry)
		if (f->id.len == id.len &&
		    memcmp(f->id.text, id.at, id.len) == 0)
			return f;
	return NULL;
}

static void
reset(struct carrier *c, struct span id)
{
	uint8_t			 frame[RELAY_ROOM + sizeof(RELAY_REASON)];
	struct relay_frame	 f;
	ssize_t			 n;

	memset(&f, 0, sizeof(f));
	f.kind = RELAY_RESET;
	f.id = id;
	f.payload = (const uint8_t *)RELAY_REASON;
	f.len = sizeof(RELAY_REASON) - 1;
	if ((n = relay_encode(&f, frame, sizeof(frame))) > 0)
		carrier_put(c, frame, (size_t)n, true);
}

static void
carry_clear_end(struct carrier_stream *f)
{
	struct carrier	*c = f->carrier;
	struct stream_id id = f->id;
	struct span	 span = { id.text, id.len };

	carrier_stream_free(&f);
	reset(c, span);
}

static struct carrier_stream *
carry_clear_begin(struct carrier *c, struct span id)
{
	struct carrier_stream	*f;

	if (c->nstreams >= LIMIT_STREAMS || (f = carrier_stream_new(c)) ==
	    NULL) {
		reset(c, id);
		return NULL;
	}
	f->id.len = id.len;		/* checked by relay_decode() */
	memcpy(f->id.text, id.at, id.len);
	return f;
}

static void
carry_clear_on_message(struct carrier *c, uint8_t *data, size_t len,
    bool is_binary)
{
	struct relay_frame	 in;
	struct carrier_stream		*f;

	if (!is_binary || relay_decode(&in, data, len) == -1) {
		log_debug("rendezvous: malformed frame dropped");
		return;
	}
	f = carry_clear_find(c, in.id);
	if (in.kind == RELAY_DATA && !utf8_is_valid(in.payload, in.len)) {
		log_debug("rendezvous: message that is not UTF-8 dropped");
	} else if (in.kind == RELAY_DATA) {
		if (f == NULL)
			f = carry_clear_begin(c, in.id);
		if (f != NULL &&
		    carrier_stream_put(f, in.payload, in.len) == -1)
			carry_clear_end(f);
	} else if (in.kind == RELAY_RESET) {
		carrier_stream_free(&f);
	}
	relay_free(&in);
}

static ssize_t
carry_clear_seal(struct carrier_stream *f, const uint8_t *data, size_t len,
    uint8_t **frame_out)
{
	struct relay_frame	 out;

	if (!carrier_stream_begins(f, len + RELAY_ROOM, frame_out))
		return 0;
	if (*frame_out == NULL)
		return -1;
	memset(&out, 0, sizeof(out));
	out.kind = RELAY_DATA;
	out.id.at = f->id.text;
	out.id.len = f->id.len;
	out.seq = f->seq++;		/* wraps */
	out.payload = data;
	out.len = len;
	return relay_encode(&out, *frame_out, len + RELAY_ROOM);
}

const struct carrier_ops carry_clear = {
	sizeof(struct carrier), true, carrier_init, carrier_fini,
	    carry_clear_on_message,
	carrier_stream_first, carrier_stream_drop, carry_clear_seal,
	    carry_clear_end
};
