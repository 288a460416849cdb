#include "common/net/ws.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"

#define FIN		0x80	/* first byte */
#define RSV		0x70
#define OPCODE		0x0f
#define MASKED		0x80	/* second byte */
#define LENGTH		0x7f

#define MASK_LEN	4

/*
 * Sizes of the read buffer.  ROOM_FIRST suffices for a connection with small
 * messages.  Small frames are read ROOM_SMALL at a time.  After a large frame
 * little is read ahead, since the part of the next frame must be moved.
 */
#define ROOM_FIRST	4096
#define ROOM_SMALL	16384
#define ROOM_BEHIND	4096
#define PART_LEAST	1024	/* bytes of a frame, to unmask early */

/* Cap for limits, so that sums of sizes cannot overflow. */
#define SIZE_LIMIT	(SIZE_MAX / 8)

enum kind {
	KIND_RESERVED,
	KIND_FIRST,		/* begins a message */
	KIND_MORE,		/* continues one */
	KIND_CONTROL
};

/*
 * Handles a complete frame, whose unmasked payload is in ev: fills in the rest
 * of ev, or leaves its type WS_EV_NONE.
 */
typedef void	 take_fn(struct ws_reader *r, int head, struct ws_event *ev);

static take_fn	 take_data, take_ping_pong, take_close;

static const struct {
	enum kind	 kind;
	take_fn		*take;
} opcodes[OPCODE + 1] = {
	[WS_CONTINUATION] =	{ KIND_MORE,	take_data },
	[WS_TEXT] =		{ KIND_FIRST,	take_data },
	[WS_BINARY] =		{ KIND_FIRST,	take_data },
	[WS_CLOSE] =		{ KIND_CONTROL,	take_close },
	[WS_PING] =		{ KIND_CONTROL,	take_ping_pong },
	[WS_PONG] =		{ KIND_CONTROL,	take_ping_pong },
};

/* The codes valid in a close frame: RFC 6455 7.4 and the IANA registry. */
static const struct {
	uint16_t	 first, last;
} close_codes[] = {
	{ 1000, 1003 },
	{ 1007, 1014 },
	{ 3000, 4999 },
};

static size_t
size_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
size_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Unmask.  Return whether the result is ASCII, which is free to check here. */
static bool
apply_mask(uint8_t *data, size_t len, const uint8_t mask[4])
{
	/* An SSE2 register, or the machine's equivalent. */
	typedef uint32_t block __attribute__((vector_size(16), aligned(1),
	    may_alias));
	uint32_t	 word;
	block		 key, all = { 0 };
	uint8_t		 last = 0;
	size_t		 i;

	memcpy(&word, mask, sizeof(word));
	key = (block){ word, word, word, word };
	for (i = 0; len - i >= sizeof(key); i += sizeof(key)) {
		*(block *)(data + i) ^= key;
		all |= *(block *)(data + i);
	}
	for (; i < len; i++) {
		data[i] ^= mask[i % MASK_LEN];
		last |= data[i];
	}
	return ((all[0] | all[1] | all[2] | all[3]) & 0x80808080) == 0 &&
	    last < 0x80;
}

void
ws_mask(uint8_t *data, size_t len, const uint8_t mask[4])
{
	(void)apply_mask(data, len, mask);
}

static void
put_be(uint8_t *out, uint64_t v, size_t n)
{
	while (n-- > 0) {
		out[n] = (uint8_t)v;
		v >>= 8;
	}
}

static uint64_t
get_be(const uint8_t *p, size_t n)
{
	uint64_t	 v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

size_t
ws_header(uint8_t out[WS_HEADER_MAX], bool fin, enum ws_opcode opcode,
    uint64_t len, const uint8_t mask[4])
{
	size_t	 n = ws_header_len(len);

	out[0] = (uint8_t)((fin ? FIN : 0) | (int)opcode);
	if (n == 2) {
		out[1] = (uint8_t)len;
	} else {
		out[1] = n == 4 ? 126 : 127;
		put_be(out + 2, len, n - 2);
	}
	if (mask == NULL)
		return n;
	out[1] |= MASKED;
	memcpy(out + n, mask, MASK_LEN);
	return n + MASK_LEN;
}

void
ws_reader_init(struct ws_reader *r, bool is_server, size_t frame_max,
    size_t message_max)
{
	memset(r, 0, sizeof(*r));
	r->is_server = is_server;
	r->msg_opcode = -1;
	r->frame_max = size_min(frame_max, SIZE_LIMIT);
	r->message_max = size_min(message_max, SIZE_LIMIT);
}

static void
ws_drop_all(struct ws_reader *r)
{
	r->msg_opcode = -1;
	r->msg_len = r->off = r->len = r->frame = r->bare = 0;
}

static void
free_base(struct ws_reader *r)
{
	free(r->base);
	r->base = NULL;
	r->cap = r->off = 0;
}

void
ws_reader_fini(struct ws_reader *r)
{
	ws_drop_all(r);
	free_base(r);
}

/*
 * Close the gap.  Linear over all: after the last WS_EV_NONE the raw bytes are
 * part of one frame, so no gap occurs again until that frame is used up.
 */
static void
close_gap(struct ws_reader *r)
{
	if (r->len > 0 && r->off > r->msg_len)
		memmove(r->base + r->msg_len, r->base + r->off, r->len);
	r->off = r->msg_len;
}

static int
resize(struct ws_reader *r, size_t cap)
{
	uint8_t	*base;

	cap = (cap + ROOM_FIRST - 1) / ROOM_FIRST * ROOM_FIRST;
	if ((base = realloc(r->base, cap)) == NULL)
		return -1;
	r->base = base;
	r->cap = cap;
	return 0;
}

/*
 * Return by how much to grow: towards the end of the frame, but at most to
 * twice the size.  Many small fragments need steps proportional to the message.
 */
static size_t
growth(const struct ws_reader *r, size_t held, size_t need)
{
	size_t	 n;

	n = size_max(ROOM_FIRST, size_min(need + ROOM_BEHIND, held));
	return r->msg_len > 0 ? size_max(n, held / 8) : n;
}

/*
 * Whether room is enough: a little if it completes a frame that is then used
 * up, but not while a fragmented message is kept.
 */
static bool
room_will_do(const struct ws_reader *r, size_t room, size_t held, size_t need)
{
	if (room < ROOM_FIRST && (r->msg_len > 0 || room < need))
		return false;
	return room >= size_min(need, held);
}

uint8_t *
ws_reader_room(struct ws_reader *r, size_t min, size_t *size_out)
{
	size_t	 held, need, room;

	if (min > SIZE_LIMIT) {
		errno = ENOMEM;
		return NULL;
	}
	need = ws_reader_need(r);
	close_gap(r);
	held = r->msg_len + r->len;
	room = r->cap - held;
	if (room < min || !room_will_do(r, room, held, need)) {
		room = size_max(min, growth(r, held, need));
		if (resize(r, held + room) == -1)
			return NULL;
	}
	room = size_max(min, size_max(need + ROOM_BEHIND, ROOM_SMALL));
	*size_out = size_min(room, r->cap - held);
	return r->base + held;
}

void
ws_reader_fed(struct ws_reader *r, size_t n)
{
	assert(n <= r->cap - r->off - r->len);
	if (!r->is_closed && r->error == 0)
		r->len += n;
}

/* Return the number of extended length bytes in a header. */
static size_t
extra_len(uint8_t second)
{
	switch (second & LENGTH) {
	case 126:
		return 2;
	case 127:
		return 8;
	default:
		return 0;
	}
}

/* Return the length of the current header, as far as it is known. */
static size_t
head_len(const struct ws_reader *r)
{
	size_t	 n = r->is_server ? 2 + MASK_LEN : 2;

	return r->len < 2 ? n : n + extra_len(r->base[r->off + 1]);
}

size_t
ws_reader_need(const struct ws_reader *r)
{
	size_t	 n = r->frame != 0 ? r->frame : head_len(r);

	assert(r->off + r->len <= r->cap);
	return n > r->len ? n - r->len : 0;
}

size_t
ws_reader_held(const struct ws_reader *r)
{
	assert(r->msg_len <= r->off && r->off + r->len <= r->cap);
	return r->msg_len + r->len;
}

bool
ws_reader_is_empty(const struct ws_reader *r)
{
	return r->len == 0 && r->msg_opcode == -1;
}

void
ws_reader_trim(struct ws_reader *r)
{
	size_t	 held = r->msg_len + r->len;

	if (held == 0) {
		free_base(r);
	} else if (held < r->cap / 4 && r->cap > ROOM_FIRST) {
		close_gap(r);
		(void)resize(r, held);	/* on failure it stays large */
	}
}

/* Check the first two bytes of a header: a close code, or 0. */
static uint16_t
judge_head(const struct ws_reader *r, uint8_t first, uint8_t second)
{
	enum kind	 kind = opcodes[first & OPCODE].kind;
	bool		 ok;

	if ((first & RSV) != 0 || ((second & MASKED) != 0) != r->is_server)
		return 1002;
	switch (kind) {
	case KIND_CONTROL:
		ok = (first & FIN) != 0 && (second & LENGTH) <= WS_CONTROL_MAX;
		break;
	case KIND_FIRST:
		ok = r->msg_opcode == -1;
		break;
	case KIND_MORE:
		ok = r->msg_opcode != -1;
		break;
	default:
		ok = false;
	}
	return ok ? 0 : 1002;
}

/* Check an extended length of so many bytes: a close code, or 0. */
static uint16_t
judge_len(const struct ws_reader *r, uint8_t first, uint64_t len, size_t extra)
{
	if (len >> 63 != 0 || ws_header_len(len) != 2 + extra)
		return 1002;
	if (opcodes[first & OPCODE].kind == KIND_CONTROL)
		return 0;
	if (len > r->frame_max || r->msg_len > r->message_max ||
	    len > r->message_max - r->msg_len)
		return 1009;
	return 0;
}

/* Check a header that may be incomplete: a close code, or 0. */
static uint16_t
accept_head(struct ws_reader *r)
{
	const uint8_t	*p;
	uint64_t	 len;
	uint16_t	 code;
	size_t		 extra;

	if (r->frame != 0 || r->len < 2)
		return 0;
	p = r->base + r->off;
	if ((code = judge_head(r, p[0], p[1])) != 0)
		return code;
	extra = extra_len(p[1]);
	if (r->len < 2 + extra)
		return 0;
	len = extra == 0 ? p[1] & LENGTH : get_be(p + 2, extra);
	if ((code = judge_len(r, p[0], len, extra)) != 0)
		return code;
	r->frame = head_len(r) + (size_t)len;
	return 0;
}

static void
ws_fail(struct ws_reader *r, uint16_t code)
{
	ws_reader_fini(r);
	r->error = code;
}

static void
take_data(struct ws_reader *r, int head, struct ws_event *ev)
{
	int	 opcode = head & OPCODE;
	bool	 is_ascii = r->bare_ascii;

	ev->is_one_frame = r->msg_opcode == -1;
	if (opcode == WS_CONTINUATION)
		opcode = r->msg_opcode;
	if (r->msg_opcode != -1 || (head & FIN) == 0) {
		memmove(r->base + r->msg_len, ev->data, ev->len);
		if (r->msg_opcode != -1)
			is_ascii = is_ascii && r->msg_ascii;
		r->msg_ascii = is_ascii;
		r->msg_len += ev->len;
		r->msg_opcode = opcode;
		if ((head & FIN) == 0)
			return;
		ev->data = r->base;
		ev->len = r->msg_len;
		r->msg_len = 0;
		r->msg_opcode = -1;
	}
	ev->type = WS_EV_MESSAGE;
	ev->is_binary = opcode == WS_BINARY;
	ev->is_utf8 = is_ascii || utf8_is_valid(ev->data, ev->len);
	if (!ev->is_binary && !ev->is_utf8)
		ws_fail(r, 1007);
}

static void
take_ping_pong(struct ws_reader *r, int head, struct ws_event *ev)
{
	(void)r;
	ev->type = (head & OPCODE) == WS_PING ? WS_EV_PING : WS_EV_PONG;
}

static bool
close_code_is_valid(uint16_t code)
{
	size_t	 i;

	for (i = 0; i < sizeof(close_codes) / sizeof(close_codes[0]); i++) {
		if (code >= close_codes[i].first && code <= close_codes[i].last)
			return true;
	}
	return false;
}

static void
take_close(struct ws_reader *r, int head, struct ws_event *ev)
{
	(void)head;
	ev->type = WS_EV_CLOSE;
	ev->code = 1005;
	if (ev->len > 0) {
		ev->code = ev->len < 2 ? 0 : (uint16_t)get_be(ev->data, 2);
		if (!close_code_is_valid(ev->code)) {
			ws_fail(r, 1002);
			return;
		}
		ev->data += 2;
		ev->len -= 2;
	}
	if (!utf8_is_valid(ev->data, ev->len)) {
		ws_fail(r, 1007);
		return;
	}
	r->is_closed = true;
	ws_drop_all(r);
}

/* Unmask the payload of the current frame up to end, where it is not yet. */
static void
unmask(struct ws_reader *r, uint8_t *data, size_t end)
{
	bool	 was_ascii = r->bare == 0 || r->bare_ascii;

	assert(r->bare <= end);
	r->bare_ascii = apply_mask(data + r->bare, end - r->bare,
	    data - MASK_LEN) && was_ascii;
	r->bare = end;
}

/*
 * Unmask the part of a long frame that has arrived, while it is still in the
 * processor's caches.
 */
static void
unmask_part(struct ws_reader *r)
{
	size_t	 head = head_len(r);

	if (!r->is_server || r->frame == 0 ||
	    r->len < head + r->bare + PART_LEAST)
		return;
	unmask(r, r->base + r->off + head,
	    (r->len - head) / MASK_LEN * MASK_LEN);
}

/* Handle the current frame, which is complete. */
static void
take_frame(struct ws_reader *r, struct ws_event *ev)
{
	uint8_t	*p = r->base + r->off;
	size_t	 head = head_len(r);

	ev->data = p + head;
	ev->len = r->frame - head;
	if (r->is_server)
		unmask(r, ev->data, ev->len);
	r->off += r->frame;
	r->len -= r->frame;
	r->frame = r->bare = 0;
	opcodes[p[0] & OPCODE].take(r, p[0], ev);
}

void
ws_reader_next(struct ws_reader *r, struct ws_event *ev)
{
	uint16_t	 code;

	memset(ev, 0, sizeof(*ev));
	while (r->error == 0 && ev->type == WS_EV_NONE) {
		if ((code = accept_head(r)) != 0)
			ws_fail(r, code);
		else if (r->frame == 0 || r->len < r->frame)
			break;
		else
			take_frame(r, ev);
	}
	if (ev->type == WS_EV_NONE && r->error == 0)
		unmask_part(r);
	if (ev->type == WS_EV_NONE || r->error != 0)
		memset(ev, 0, sizeof(*ev));
	if (r->error != 0) {
		ev->type = WS_EV_ERROR;
		ev->code = r->error;
	}
}
