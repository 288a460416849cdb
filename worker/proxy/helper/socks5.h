/* A SOCKS5 client's bytes (RFC 1928).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/nethost.h"

enum socks5_result {
	SOCKS5_MORE,		/* incomplete */
	SOCKS5_OK,
	SOCKS5_BAD,		/* not SOCKS5: close */
	SOCKS5_REFUSED		/* answer, then close */
};

/* Replies. */
enum {
	SOCKS5_DONE = 0, SOCKS5_FAILED = 1, SOCKS5_NOT_ALLOWED = 2,
	SOCKS5_UNREACHABLE = 4, SOCKS5_NOT_LISTENING = 5,
	SOCKS5_COMMAND = 7
};

#define SOCKS5_REPLY_MAX	22

/* *used_out: its bytes.  REFUSED: it wants authentication. */
enum socks5_result	 socks5_greeting(const uint8_t *data, size_t len,
			    size_t *used_out);

/* Always CONNECT.  REFUSED: another command. */
enum socks5_result	 socks5_request(const uint8_t *data, size_t len,
			    struct nethost *host_out, uint16_t *port_out,
			    size_t *used_out);

/* ours: the connection's address, or NULL.  Its length. */
size_t	 socks5_reply(int reply, const struct netaddr *ours, uint16_t port,
	    uint8_t out[SOCKS5_REPLY_MAX]);
