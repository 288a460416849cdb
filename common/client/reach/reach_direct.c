/* A server by a websocket: each text message is one of JSON-RPC. */
#include "common/client/reach/reach_conn.h"

#include <assert.h>

#include "common/limit.h"

static int
direct_start(struct reach *r)
{
	assert(r->sock == NULL);
	if (reach_connect(r, &r->target, r->reach_target.connect_ms,
	    (size_t)LIMIT_MESSAGE) == -1)
		return -1;
	wsock_set_authorization(r->sock, r->authorization);
	return 0;
}

static void
direct_fini(struct reach *r)
{
	(void)r;
}

static void
direct_on_message(struct reach *r, uint8_t *data, size_t len, bool is_binary)
{
	(void)is_binary;
	reach_deliver(r, data, len);
}

static bool
direct_send_frame(struct reach *r)
{
	const uint8_t	*data;
	size_t		 len;

	if (!r->is_ready || !stdio_peer_first(&r->stdio_peer, &data, &len))
		return false;
	if (wsock_send_text(r->sock, &r->text, data, len))
		stdio_peer_drop(&r->stdio_peer);
	return true;
}

static void
direct_on_room(struct reach *r)
{
	(void)r;
}

static bool
direct_on_end(struct reach *r, unsigned status, const char *why)
{
	(void)r;
	(void)status;
	(void)why;
	return false;
}

const struct reach_ops	 reach_direct_ops = {
	direct_start, direct_fini, reach_ready, direct_on_message,
	    direct_send_frame, direct_on_room, direct_on_end
};
