#include "master/hub/relay/relayhead.h"

#include <assert.h>
#include <string.h>

#define VARINT_MAX	10	/* bytes, of a value of 64 bits */
#define SHORT_MAX	5	/* of one of 32 bits: tags, lengths */

enum {
	FIELD_ID = 2, FIELD_DATA = 5, FIELD_RESET = 8, FIELD_HANDSHAKE = 10,
	FIELD_FLOW = 1001
};
enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

struct relay_walk {
	const uint8_t	*at, *end;
};

/* Read a varint of at most max bytes: 0, or -1. */
static int
relay_varint(struct relay_walk *w, size_t max, uint64_t *out)
{
	uint64_t	 n = 0;
	size_t		 i;

	for (i = 0; i < max && w->at < w->end; i++) {
		n |= (uint64_t)(*w->at & 0x7f) << (7 * i);
		if ((*w->at++ & 0x80) == 0) {
			*out = n;
			return max == SHORT_MAX && n > UINT32_MAX ? -1 : 0;
		}
	}
	return -1;
}

/* Skip the value of a field, or point bytes_out to it. */
static int
relay_skip(struct relay_walk *w, unsigned wire, struct span *bytes_out)
{
	uint64_t	 n;

	switch (wire) {
	case WIRE_VARINT:
		return relay_varint(w, VARINT_MAX, &n);
	case WIRE_64:
		n = 8;
		break;
	case WIRE_32:
		n = 4;
		break;
	case WIRE_BYTES:
		if (relay_varint(w, SHORT_MAX, &n) == -1)
			return -1;
		break;
	default:
		return -1;
	}
	if (n > (uint64_t)(w->end - w->at))
		return -1;
	*bytes_out = (struct span){ (const char *)w->at, (size_t)n };
	w->at += n;
	return 0;
}

/*
 * Strict, so that an executor cannot read another id than we do: an id that is
 * there twice, a length or a tag that is longer than any needs to be, and
 * groups are refused.
 */
int
relayhead_read(struct relayhead *h, const void *data, size_t len)
{
	struct relay_walk	 w = { data, (const uint8_t *)data + len };
	struct span		 bytes = { NULL, 0 };
	uint64_t		 tag, field;

	memset(h, 0, sizeof(*h));
	while (w.at < w.end) {
		if (relay_varint(&w, SHORT_MAX, &tag) == -1 ||
		    relay_skip(&w, tag & 7, &bytes) == -1)
			return -1;
		field = tag >> 3;
		if (field == 0)
			return -1;
		if (field == FIELD_ID) {
			if ((tag & 7) != WIRE_BYTES || h->id.at != NULL)
				return -1;
			h->id = bytes;
		} else if ((field >= FIELD_DATA && field <= FIELD_HANDSHAKE) ||
		    field == FIELD_FLOW) {
			h->is_reset = field == FIELD_RESET;
		}
	}
	return h->id.len > 0 && h->id.len <= RELAYHEAD_ID_MAX ? 0 : -1;
}

/* Write what stands before a body; return its length. */
static size_t
relayhead_begin(struct span id, uint8_t *out)
{
	size_t	 at = 0;

	assert(id.len <= RELAYHEAD_ID_MAX);
	out[at++] = 1 << 3 | WIRE_VARINT;		/* version */
	out[at++] = 1;
	out[at++] = FIELD_ID << 3 | WIRE_BYTES;
	if (id.len > 0x7f) {
		out[at++] = (uint8_t)(id.len & 0x7f) | 0x80;
		out[at++] = (uint8_t)(id.len >> 7);
	} else {
		out[at++] = (uint8_t)id.len;
	}
	memcpy(out + at, id.at, id.len);
	return at + id.len;
}

size_t
relayhead_reset(struct span id, const char *reason,
    uint8_t out[RELAYHEAD_RESET_MAX])
{
	size_t	 n = strlen(reason), at = relayhead_begin(id, out);

	assert(n <= 32);
	out[at++] = FIELD_RESET << 3 | WIRE_BYTES;
	out[at++] = (uint8_t)(n + 2);
	out[at++] = 1 << 3 | WIRE_BYTES;		/* reason */
	out[at++] = (uint8_t)n;
	memcpy(out + at, reason, n);
	return at + n;
}

bool
relayhead_is_plain_reset(const struct relayhead *h, const void *data,
    size_t len)
{
	uint8_t		 begin[RELAYHEAD_RESET_MAX];
	const uint8_t	*at = data, *end = at + len;
	size_t		 n = relayhead_begin(h->id, begin);

	assert(h->is_reset);
	if (len < n + 5 || len > n + 2 + 0x7f || memcmp(at, begin, n) != 0)
		return false;
	at += n;
	if (at[0] != (FIELD_RESET << 3 | WIRE_BYTES) ||
	    at[1] != end - at - 2 || at[2] != (1 << 3 | WIRE_BYTES) ||
	    at[3] != end - at - 4)
		return false;
	for (at += 4; at < end; at++)
		if (*at <= ' ' || *at > '~')
			return false;
	return true;
}

size_t
relayhead_flow(struct span id, bool is_stopped,
    uint8_t out[RELAYHEAD_RESET_MAX])
{
	size_t	 at = relayhead_begin(id, out);

	out[at++] = (uint8_t)(FIELD_FLOW << 3 | WIRE_BYTES) | 0x80;
	out[at++] = FIELD_FLOW >> 4;
	out[at++] = is_stopped ? 2 : 0;
	if (is_stopped) {
		out[at++] = 1 << 3 | WIRE_VARINT;
		out[at++] = 1;
	}
	return at;
}
