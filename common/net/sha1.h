/* SHA-1 (RFC 3174), for WebSockets only: no security (RFC 6455 10.8).  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA1_LEN	20

/* At most 512 MiB. */
void	 sha1(const void *data, size_t len, uint8_t digest[SHA1_LEN]);
