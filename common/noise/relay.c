#include "common/noise/relay.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/json/utf8.h"
#include "proto/relay.pb-c.h"

#define VERSION		1

typedef Relay__RelayMessageFrame	message;

/* --- reading ---------------------------------------------------------------*/

/* White_Space of Unicode outside ASCII; control characters are refused. */
static const char *const	 blanks[] = {
	" ", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80",
	"\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84",
	"\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
	"\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
	"\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
};

static bool
relay_is_blank(struct span s)
{
	size_t	 i, n = sizeof(blanks) / sizeof(blanks[0]);

	while (s.len > 0) {
		for (i = 0; i < n && !span_begins(s, blanks[i]); i++)
			;
		if (i == n)
			return false;
		s.at += strlen(blanks[i]);
		s.len -= strlen(blanks[i]);
	}
	return true;
}

static bool
relay_is_text(ProtobufCBinaryData b)
{
	return utf8_is_valid(b.data, b.len);
}

static bool
relay_is_id(struct span s)
{
	size_t	 i;

	if (s.len == 0 || s.len > LIMIT_RELAY_STREAM_ID ||
	    !utf8_is_valid(s.at, s.len) || relay_is_blank(s))
		return false;
	for (i = 0; i < s.len; i++)
		if ((unsigned char)s.at[i] < ' ' || s.at[i] == 0x7f)
			return false;
	return true;
}

static bool
take_payload(struct relay_frame *f, enum relay_kind kind,
    ProtobufCBinaryData b)
{
	f->kind = kind;
	f->payload = b.data;
	f->len = b.len;
	return b.len > 0;
}

/* Take the body; false: missing or invalid. */
static bool
take_body(struct relay_frame *f, const message *m)
{
	switch (m->body_case) {
	case RELAY__RELAY_MESSAGE_FRAME__BODY_DATA:
		f->seq = m->data->seq;
		return m->data->segment_index == 0 &&
		    m->data->segment_count == 1 &&
		    take_payload(f, RELAY_DATA, m->data->payload);
	case RELAY__RELAY_MESSAGE_FRAME__BODY_ACK_FRAME:
		f->kind = RELAY_ACK;
		return true;
	case RELAY__RELAY_MESSAGE_FRAME__BODY_RESUME:
		f->kind = RELAY_RESUME;
		f->seq = m->resume->next_seq;
		return true;
	case RELAY__RELAY_MESSAGE_FRAME__BODY_RESET:
		return take_payload(f, RELAY_RESET, m->reset->reason) &&
		    relay_is_text(m->reset->reason);
	case RELAY__RELAY_MESSAGE_FRAME__BODY_HEARTBEAT:
		f->kind = RELAY_HEARTBEAT;
		return true;
	case RELAY__RELAY_MESSAGE_FRAME__BODY_HANDSHAKE:
		return take_payload(f, RELAY_HANDSHAKE,
		    m->handshake->payload);
	case RELAY__RELAY_MESSAGE_FRAME__BODY_FLOW:
		f->kind = RELAY_FLOW;
		f->seq = m->flow->is_stopped;
		return true;
	default:
		return false;
	}
}

int
relay_decode(struct relay_frame *f, const void *data, size_t len)
{
	message	*m;

	memset(f, 0, sizeof(*f));
	if (len > LIMIT_RELAY_MESSAGE) {
		errno = EMSGSIZE;
		return -1;
	}
	errno = 0;
	if ((m = relay__relay_message_frame__unpack(NULL, len, data)) ==
	    NULL) {
		errno = errno == ENOMEM ? ENOMEM : EPROTO;
		return -1;
	}
	f->memory = m;
	f->id.at = (const char *)m->stream_id.data;
	f->id.len = m->stream_id.len;
	if (m->version == VERSION && relay_is_id(f->id) && take_body(f, m) &&
	    relay_is_text(m->traceparent) && relay_is_text(m->tracestate))
		return 0;
	relay_free(f);
	errno = EPROTO;
	return -1;
}

void
relay_free(struct relay_frame *f)
{
	if (f->memory != NULL)
		relay__relay_message_frame__free_unpacked(f->memory, NULL);
	memset(f, 0, sizeof(*f));
}

/* --- writing ---------------------------------------------------------------*/

/* The API lacks const; protobuf-c only reads it. */
static ProtobufCBinaryData
binary(const void *data, size_t len)
{
	ProtobufCBinaryData	 b;

	b.data = (uint8_t *)(uintptr_t)data;
	b.len = len;
	return b;
}

static ssize_t
pack(const message *m, uint8_t *out, size_t size)
{
	if (relay__relay_message_frame__get_packed_size(m) > size) {
		errno = EMSGSIZE;
		return -1;
	}
	return (ssize_t)relay__relay_message_frame__pack(m, out);
}

ssize_t
relay_encode(const struct relay_frame *f, uint8_t *out, size_t size)
{
	message			 m = RELAY__RELAY_MESSAGE_FRAME__INIT;
	Relay__RelayData	 data = RELAY__RELAY_DATA__INIT;
	Relay__RelayAck		 ack = RELAY__RELAY_ACK__INIT;
	Relay__RelayResume	 resume = RELAY__RELAY_RESUME__INIT;
	Relay__RelayReset	 reset = RELAY__RELAY_RESET__INIT;
	Relay__RelayHeartbeat	 beat = RELAY__RELAY_HEARTBEAT__INIT;
	Relay__RelayHandshake	 shake = RELAY__RELAY_HANDSHAKE__INIT;
	Relay__RelayFlow	 flow = RELAY__RELAY_FLOW__INIT;

	m.version = VERSION;
	m.stream_id = binary(f->id.at, f->id.len);
	data.seq = resume.next_seq = f->seq;
	flow.is_stopped = f->seq != 0;
	data.segment_count = 1;
	data.payload = reset.reason = shake.payload =
	    binary(f->payload, f->len);
	switch (f->kind) {
#define BODY(kind, KIND, member)					\
	case RELAY_##kind:						\
		m.body_case = RELAY__RELAY_MESSAGE_FRAME__BODY_##KIND;	\
		m.member;						\
		break
	BODY(DATA, DATA, data = &data);
	BODY(ACK, ACK_FRAME, ack_frame = &ack);
	BODY(RESUME, RESUME, resume = &resume);
	BODY(RESET, RESET, reset = &reset);
	BODY(HEARTBEAT, HEARTBEAT, heartbeat = &beat);
	BODY(HANDSHAKE, HANDSHAKE, handshake = &shake);
	BODY(FLOW, FLOW, flow = &flow);
#undef BODY
	}
	return pack(&m, out, size);
}
