/*
 * The websocket as one connection (remote.md section 12, "executor mode"): a
 * text message is a JSON-RPC message.
 */
#include "master/uplink/carrier_priv.h"

#include <libwebsockets.h>

#include <stdlib.h>
#include <string.h>

#include "master/uplink/uplink.h"

struct carrier_plain {
	struct carrier	 c;
	uint8_t		*frame;		/* being sent */
};

/* With its connection it ends as well. */
static void
end(struct flow *f)
{
	rendezvous_fail(&f->carrier->uplink->rendezvous);
}

/* Not before the harness speaks: a worker does not wait for ever. */
static void
on_message(struct carrier *c, uint8_t *data, size_t len, bool is_binary)
{
	struct flow	*f = TAILQ_FIRST(&c->flows);

	(void)is_binary;
	if ((f == NULL && (f = flow_new(c)) == NULL) ||
	    flow_put(f, data, len) == -1)
		rendezvous_fail(&c->uplink->rendezvous);
}

static ssize_t
seal(struct flow *f, const uint8_t *data, size_t len, uint8_t **frame_out)
{
	struct carrier_plain	*c = (struct carrier_plain *)f->carrier;

	f->is_sent = !f->is_sent;
	if (!f->is_sent)
		return 0;
	free(c->frame);
	if ((c->frame = malloc(LWS_PRE + len)) == NULL)
		return -1;
	*frame_out = c->frame + LWS_PRE;
	memcpy(*frame_out, data, len);
	return (ssize_t)len;
}

static int
init(struct carrier *c)
{
	(void)c;
	return 0;
}

static void
fini(struct carrier *c)
{
	struct flow	*f;

	while ((f = TAILQ_FIRST(&c->flows)) != NULL)
		flow_free(&f);
	free(((struct carrier_plain *)c)->frame);
}

const struct carrier_ops carry_plain = {
	sizeof(struct carrier_plain), false, init, fini, on_message,
	flow_first, flow_drop, seal, end
};
