#include "common/noise/record.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX		4	/* bytes of a length */
#define KEEP		4096	/* bytes of memory kept for small messages */

static const struct gcm_ad	 no_ad;

/* --- sending ---------------------------------------------------------------*/

int
record_writer_init(struct record_writer *w, const uint8_t key[GCM_KEY])
{
	w->seq = 0;
	return gcm_init(&w->gcm, key, true);
}

void
record_writer_fini(struct record_writer *w)
{
	gcm_fini(&w->gcm);
}

int
record_cut(struct record_cutter *c, const void *data, size_t len)
{
	if (len == 0 || len > LIMIT_MESSAGE) {
		errno = EMSGSIZE;
		return -1;
	}
	c->data = data;
	c->len = len;
	c->at = 0;
	return 0;
}

/* Write the first piece of c, preceded by its length.  Return its length. */
static size_t
first_piece(const struct record_cutter *c, uint8_t *out)
{
	size_t	 n = LIMIT_RECORD - PREFIX;
	int	 i;

	if (n > c->len)
		n = c->len;
	for (i = 0; i < PREFIX; i++)
		out[i] = (uint8_t)(c->len >> (24 - 8 * i));
	memcpy(out + PREFIX, c->data, n);
	return PREFIX + n;
}

int
record_seal(struct record_writer *w, struct record_cutter *c, uint8_t *out,
    uint32_t *seq_out)
{
	const uint8_t	*from = out;
	size_t		 n;

	assert(c->at <= PREFIX + c->len);
	if (c->at == PREFIX + c->len)
		return 0;
	if (w->seq == RECORD_SEQ_END) {
		errno = EOVERFLOW;
		return -1;
	}
	if (c->at == 0) {
		n = first_piece(c, out);
	} else {
		from = c->data + (c->at - PREFIX);
		n = PREFIX + c->len - c->at;
		if (n > LIMIT_RECORD)
			n = LIMIT_RECORD;
	}
	if (gcm_seal(&w->gcm, w->seq, no_ad, from, n, out) == -1)
		return -1;
	c->at += n;
	*seq_out = w->seq++;
	return (int)(n + GCM_TAG);
}

/* --- receiving -------------------------------------------------------------*/

int
record_reader_init(struct record_reader *r, const uint8_t key[GCM_KEY])
{
	memset(r, 0, sizeof(*r));
	buf_init(&r->plain, LIMIT_STREAM_HELD);
	return gcm_init(&r->gcm, key, false);
}

static struct record_waiting *
waiting_of(struct record_reader *r, uint32_t seq)
{
	return &r->waiting[seq % LIMIT_RECORD_GAP];
}

static void
record_forget(struct record_reader *r, struct record_waiting *w)
{
	assert(r->waiting_len >= w->len);
	r->waiting_len -= w->len;
	free(w->data);
	w->data = NULL;
	w->len = 0;
}

void
record_reader_fini(struct record_reader *r)
{
	size_t	 i;

	for (i = 0; i < LIMIT_RECORD_GAP; i++)
		record_forget(r, &r->waiting[i]);
	buf_fini(&r->plain);
	gcm_fini(&r->gcm);
	quota_lower(&r->share, 0);
	r->scanned = r->messages = 0;
	r->is_broken = true;
}

void
record_reader_share(struct record_reader *r, struct quota *q)
{
	assert(r->next == 0 && r->waiting_len == 0 && r->share.held == 0);
	r->share.quota = q;
}

/*
 * Return the bytes that count: those held, or half of the memory if that is
 * more, as it is after messages were taken.
 */
static size_t
record_held(const struct record_reader *r)
{
	size_t	 half = r->plain.cap / 2;

	return r->waiting_len + (half > r->plain.len ? half : r->plain.len);
}

/* Return the length field of the message at p. */
static size_t
length_at(const uint8_t *p)
{
	assert(p != NULL);
	return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 |
	    p[3];
}

/* Find the complete messages.  -1 with errno. */
static int
scan(struct record_reader *r, bool is_full)
{
	const struct buf	*b = &r->plain;
	size_t			 len;

	assert(r->scanned <= b->len);
	while (b->len - r->scanned >= PREFIX) {
		len = length_at(buf_data(b) + r->scanned);
		if (len == 0 || len > LIMIT_MESSAGE) {
			errno = EPROTO;
			return -1;
		}
		if (b->len - r->scanned - PREFIX < len)
			break;
		if (is_full) {
			errno = EFBIG;
			return -1;
		}
		r->scanned += PREFIX + len;
		r->messages++;
	}
	return 0;
}

/* Open the next record, whose length was checked.  -1 with errno. */
static int
record_take(struct record_reader *r, const uint8_t *data, size_t len)
{
	uint8_t	*room;

	/* Room for the tag, too: never 0, so that an empty record opens. */
	if ((room = buf_reserve(&r->plain, len)) == NULL ||
	    gcm_open(&r->gcm, r->next, no_ad, data, len, room) == -1)
		return -1;
	buf_commit(&r->plain, len - GCM_TAG);
	r->next++;
	return 0;
}

/* Keep a record that came early.  -1 with errno. */
static int
record_keep(struct record_reader *r, uint32_t seq, const uint8_t *data,
    size_t len)
{
	struct record_waiting	*w = waiting_of(r, seq);

	assert(w->data == NULL && r->waiting_len <= LIMIT_RECORD_WAITING);
	if (len > LIMIT_RECORD_WAITING - r->waiting_len) {
		errno = EPROTO;
		return -1;
	}
	if ((w->data = malloc(len)) == NULL)
		return -1;
	memcpy(w->data, data, len);
	w->len = len;
	r->waiting_len += len;
	return 0;
}

/*
 * Take a record that is neither old nor waiting.  Messages are counted before:
 * a single record may exceed LIMIT_STREAM_MESSAGES.
 */
static int
record_put_frame(struct record_reader *r, uint32_t seq, const uint8_t *data,
    size_t len)
{
	struct record_waiting	*w;
	bool			 is_full = r->messages >= LIMIT_STREAM_MESSAGES;

	if (seq == RECORD_SEQ_END || seq - r->next > LIMIT_RECORD_GAP ||
	    len < GCM_TAG || len > RECORD_SEALED_MAX) {
		errno = EPROTO;
		return -1;
	}
	if (seq != r->next)
		return record_keep(r, seq, data, len);
	if (record_take(r, data, len) == -1 || scan(r, is_full) == -1)
		return -1;
	while ((w = waiting_of(r, r->next))->data != NULL) {
		if (record_take(r, w->data, w->len) == -1 || scan(r, is_full) ==
		    -1)
			return -1;
		/* record_take() has advanced r->next. */
		record_forget(r, w);
	}
	return 0;
}

int
record_put(struct record_reader *r, uint32_t seq, const uint8_t *data,
    size_t len)
{
	if (r->is_broken) {
		errno = EPROTO;
		return -1;
	}
	if (seq < r->next || (seq != r->next &&
	    seq - r->next <= LIMIT_RECORD_GAP &&
	    waiting_of(r, seq)->data != NULL))
		return 0;
	if (record_put_frame(r, seq, data, len) == 0 &&
	    quota_set(&r->share, record_held(r)) == 0)
		return 0;
	r->is_broken = true;
	return -1;
}

bool
record_first(const struct record_reader *r, uint8_t **data_out,
    size_t *len_out)
{
	if (r->messages == 0)
		return false;
	assert(r->scanned > PREFIX && r->scanned <= r->plain.len);
	*data_out = buf_data(&r->plain) + PREFIX;
	*len_out = length_at(buf_data(&r->plain));
	return true;
}

/* Shrink the memory; on failure it stays. */
static void
shrink(struct buf *b)
{
	struct buf	 less;

	buf_trim(b, KEEP);
	if (b->cap <= KEEP || b->len >= b->cap / 4)
		return;
	assert(b->len > 0 && b->len <= b->cap);
	buf_init(&less, b->max);
	if (buf_put(&less, buf_data(b), b->len) == 0)
		buf_move(b, &less);
}

void
record_drop(struct record_reader *r)
{
	size_t	 n;

	assert(r->messages > 0);
	n = PREFIX + length_at(buf_data(&r->plain));
	assert(n <= r->scanned);
	buf_drain(&r->plain, n);
	r->scanned -= n;
	r->messages--;
	shrink(&r->plain);
	/* A broken reader's quota was not updated. */
	if (!r->is_broken)
		quota_lower(&r->share, record_held(r));
}
