/*
 * What a hub reads of strangers before it knows them: HTTP heads, the PROXY
 * protocol, and the stream id of frames, compared with what the executor reads
 * in them (relay.c, by protobuf-c).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/httphead.h"
#include "common/noise/relay.h"
#include "master/hub/relay/proxyv2.h"
#include "master/hub/relay/relayhead.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try_frame(const uint8_t *data, size_t size)
{
	struct relayhead	 h;
	struct relay_frame	 f;

	if (relay_decode(&f, data, size) == -1)
		return;
	/* Whatever the executor takes, we take for the same stream or not. */
	if (relayhead_read(&h, data, size) == 0) {
		CHECK(h.id.len == f.id.len &&
		    memcmp(h.id.at, f.id.at, h.id.len) == 0);
		CHECK(h.is_reset == (f.kind == RELAY_RESET));
	}
	relay_free(&f);
}

static void
try_proxy(const uint8_t *data, size_t size)
{
	char	 a[INET6_ADDRSTRLEN], b[INET6_ADDRSTRLEN];
	long	 n = proxyv2_read(data, size, a);
	size_t	 i;

	CHECK(n >= -1 && n <= (long)size && n <= PROXYV2_MAX);
	CHECK(memchr(a, '\0', sizeof(a)) != NULL);
	/* Byte by byte there is no other verdict on the way. */
	for (i = 0; n > 0 && i < (size_t)n; i++)
		CHECK(proxyv2_read(data, i, b) == 0);
}

static void
try_head(const char *text, size_t size)
{
	struct httphead_request	 r;
	size_t			 n = httphead_end(text, size);

	if (n == 0 || httphead_request(text, n, &r) != 0)
		return;
	CHECK(r.method.at >= text && r.target.at[0] == '/');
	CHECK(r.target.at + r.target.len < text + n);
	CHECK(!r.is_upgrade || r.key.len == 24);
	CHECK(r.auth.at == NULL || r.auth.at + r.auth.len < text + n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_frame(data, size);
	try_proxy(data, size);
	try_head((const char *)data, size);
	return 0;
}
