/* SOCKS5 on a connection (RFC 1928). */
#include "worker/proxy/helper/proxy_conn_priv.h"

#include <assert.h>

#include "worker/proxy/helper/socks5.h"

/* The greeting.  Whether a request may follow. */
static bool
socks_greet(struct proxy_conn *c)
{
	static const uint8_t	 welcome[] = { 5, 0 }, no_method[] = { 5, 255 };
	size_t			 used;

	switch (socks5_greeting(buf_data(&c->in), c->in.len, &used)) {
	case SOCKS5_OK:
		buf_drain(&c->in, used);
		conn_send(c, &c->client, welcome, sizeof(welcome));
		if (c->state == CONN_DEAD)
			return false;
		conn_set_state(c, CONN_HEAD);
		return true;
	case SOCKS5_REFUSED:
		conn_send(c, &c->client, no_method, sizeof(no_method));
		conn_finish(c);
		return false;
	case SOCKS5_MORE:
		return false;
	default:
		conn_kill(c);
		return false;
	}
}

void
conn_socks_input(struct proxy_conn *c)
{
	uint8_t	 out[SOCKS5_REPLY_MAX];
	size_t	 used;

	assert(c->state == CONN_GREETING || c->state == CONN_HEAD);
	c->protocol = IPC__PROXY_PROTOCOL__SOCKS5_TCP;
	if (c->state == CONN_GREETING && !socks_greet(c))
		return;
	switch (socks5_request(buf_data(&c->in), c->in.len, &c->host,
	    &c->port, &used)) {
	case SOCKS5_OK:
		buf_drain(&c->in, used);
		conn_judge(c);
		break;
	case SOCKS5_REFUSED:
		conn_send(c, &c->client, out, socks5_reply(SOCKS5_COMMAND,
		    NULL, 0, out));
		conn_finish(c);
		break;
	case SOCKS5_MORE:
		break;
	default:
		conn_kill(c);
	}
}
