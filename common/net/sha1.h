/*
 * SHA-1 (RFC 3174) for the WebSocket handshake, which does not rely on it for
 * security (RFC 6455 section 10.8).  libsodium has none.  Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA1_LEN	20

/* Hash len bytes, at most 512 MiB. */
void	 sha1(const void *data, size_t len, uint8_t digest[SHA1_LEN]);
