#include "worker/proxy/helper/socks5.h"

#include <sys/socket.h>

#include <string.h>

#define VERSION		5
#define METHOD_NONE	0
#define CONNECT		1

enum { TYPE_IPV4 = 1, TYPE_NAME = 3, TYPE_IPV6 = 4 };

enum socks5_result
socks5_greeting(const uint8_t *data, size_t len, size_t *used_out)
{
	if (len >= 1 && data[0] != VERSION)
		return SOCKS5_BAD;
	if (len < 2 || len < 2 + (size_t)data[1])
		return SOCKS5_MORE;
	*used_out = 2 + (size_t)data[1];
	return memchr(data + 2, METHOD_NONE, data[1]) != NULL ? SOCKS5_OK :
	    SOCKS5_REFUSED;
}

/* The bytes of an address of this type, whose first byte is at. */
static size_t
socks5_address_size(uint8_t type, uint8_t first)
{
	switch (type) {
	case TYPE_IPV4:
		return 4;
	case TYPE_IPV6:
		return 16;
	case TYPE_NAME:
		return 1 + (size_t)first;
	default:
		return 0;
	}
}

static int
socks5_set_host(struct nethost *h, uint8_t type, const uint8_t *at)
{
	/* A NUL would end the name for others; nethost_set() refuses it. */
	if (type == TYPE_NAME) {
		if (nethost_set(h, (const char *)at + 1, at[0]) == -1)
			return -1;
		/* Brackets are no part of a name here. */
		return at[1] == '[' ? -1 : 0;
	}
	memset(h, 0, sizeof(*h));
	h->addr.family = type == TYPE_IPV4 ? AF_INET : AF_INET6;
	memcpy(h->addr.byte, at, type == TYPE_IPV4 ? 4 : 16);
	netaddr_text(&h->addr, h->text);
	return 0;
}

enum socks5_result
socks5_request(const uint8_t *data, size_t len, struct nethost *host_out,
    uint16_t *port_out, size_t *used_out)
{
	size_t	 n;

	if ((len >= 1 && data[0] != VERSION) || (len >= 3 && data[2] != 0))
		return SOCKS5_BAD;
	if (len < 5)
		return SOCKS5_MORE;
	if ((n = socks5_address_size(data[3], data[4])) == 0 ||
	    (data[3] == TYPE_NAME && n == 1))
		return SOCKS5_BAD;
	if (len < 4 + n + 2)
		return SOCKS5_MORE;
	*used_out = 4 + n + 2;
	*port_out = (uint16_t)(data[4 + n] << 8 | data[5 + n]);
	if (data[1] != CONNECT)
		return SOCKS5_REFUSED;
	if (socks5_set_host(host_out, data[3], data + 4) == -1 ||
	    *port_out == 0)
		return SOCKS5_BAD;
	return SOCKS5_OK;
}

size_t
socks5_reply(int reply, const struct netaddr *ours, uint16_t port,
    uint8_t out[SOCKS5_REPLY_MAX])
{
	bool	 is_six = ours != NULL && ours->family == AF_INET6;
	size_t	 n = is_six ? 16 : 4;

	memset(out, 0, SOCKS5_REPLY_MAX);
	out[0] = VERSION;
	out[1] = (uint8_t)reply;
	out[3] = is_six ? TYPE_IPV6 : TYPE_IPV4;
	if (ours != NULL)
		memcpy(out + 4, ours->byte, n);
	out[4 + n] = (uint8_t)(port >> 8);
	out[5 + n] = (uint8_t)port;
	return 4 + n + 2;
}
