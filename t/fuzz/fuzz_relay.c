/*
 * common/noise/relay.c on hostile bytes: what it lets through is as its
 * header promises, and comes back the same when it is written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"
#include "common/noise/relay.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct relay_frame *f)
{
	size_t	 i;

	MUST(f->id.len > 0 && f->id.len <= LIMIT_RELAY_STREAM_ID);
	MUST(utf8_is_valid(f->id.at, f->id.len));
	for (i = 0; i < f->id.len; i++)
		MUST((unsigned char)f->id.at[i] >= ' ');
	if (f->kind == RELAY_DATA || f->kind == RELAY_HANDSHAKE ||
	    f->kind == RELAY_RESET)
		MUST(f->len > 0);
	else
		MUST(f->len == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct relay_frame	 f, again;
	uint8_t			*out;
	ssize_t			 n;

	if (relay_decode(&f, data, size) == -1) {
		MUST(f.memory == NULL);
		return 0;
	}
	check(&f);
	MUST((out = malloc(f.len + RELAY_ROOM)) != NULL);
	MUST((n = relay_encode(&f, out, f.len + RELAY_ROOM)) > 0);
	if (n <= LIMIT_RELAY_MESSAGE) {
		MUST(relay_decode(&again, out, (size_t)n) == 0);
		MUST(again.kind == f.kind && again.seq == f.seq &&
		    again.id.len == f.id.len && again.len == f.len);
		MUST(memcmp(again.id.at, f.id.at, f.id.len) == 0);
		MUST(f.len == 0 ||
		    memcmp(again.payload, f.payload, f.len) == 0);
		relay_free(&again);
	}
	free(out);
	relay_free(&f);
	return 0;
}
