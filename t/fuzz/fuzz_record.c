/*
 * common/noise/record.c: a harness that knows the key and does what it likes.
 * A step is four bytes and what follows: what to do (its lowest two bits: 0
 * seal, 1 send as it is, 2 seal for another place, 3 take a message), where to
 * (signed, from the number expected), and the length of the bytes that follow
 * (two, low first).  Messages are what a plain model makes of them.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/record.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)
#define HEAD	4
#define STEPS	512

struct model {
	const uint8_t	*plain[STEPS];	/* by number, NULL: not come */
	size_t		 len[STEPS];
	uint32_t	 next;
	struct buf	 stream;	/* all in order, from the start */
	size_t		 taken;
};

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t	 key[GCM_KEY] = { 42 };

static void
take(struct record_reader *r, struct model *m)
{
	const uint8_t	*want = buf_data(&m->stream);
	uint8_t		*data;
	size_t		 len, left = m->stream.len - m->taken;

	if (!record_first(r, &data, &len)) {
		if (left < 4)
			return;
		want += m->taken;
		len = (size_t)want[0] << 24 | (size_t)want[1] << 16 |
		    (size_t)want[2] << 8 | want[3];
		MUST(left - 4 < len);
		return;
	}
	MUST(left >= 4 + len && len > 0);
	want += m->taken;
	MUST(want[0] == (uint8_t)(len >> 24) && want[3] == (uint8_t)len);
	MUST(memcmp(want + 4, data, len) == 0);
	memset(data, 0xc1, len);		/* ours to write to */
	m->taken += 4 + len;
	record_drop(r);
}

static int
send_one(struct record_reader *r, struct gcm *g, int how, uint32_t seq,
    const uint8_t *plain, size_t len)
{
	static const struct gcm_ad	 none;
	static uint8_t			 sealed[65536 + GCM_TAG];

	if (how == 1)
		return record_put(r, seq, plain, len);
	MUST(gcm_seal(g, how == 0 ? seq : seq + 1, none, plain, len,
	    sealed) == 0);
	return record_put(r, seq, sealed, len + GCM_TAG);
}

/* It was let through: so it is old, or it counts. */
static void
learn(struct model *m, int how, uint32_t seq, const uint8_t *plain, size_t len)
{
	static const uint8_t	 forged;

	if (seq < m->next || m->plain[seq] != NULL)
		return;
	m->plain[seq] = how == 0 ? plain : &forged;
	m->len[seq] = len;
	for (; m->plain[m->next] != NULL; m->next++) {
		MUST(m->plain[m->next] != &forged);
		MUST(buf_put(&m->stream, m->plain[m->next],
		    m->len[m->next]) == 0);
	}
}

/* False: the stream is over. */
static bool
step(struct record_reader *r, struct gcm *g, struct model *m, const uint8_t *p,
    size_t len)
{
	int32_t	 seq = (int32_t)r->next + (int8_t)p[1];
	int	 how = p[0] & 3;

	if (how == 3) {
		take(r, m);
		return true;
	}
	if (seq < 0 || seq >= STEPS - 1)
		return true;
	if (send_one(r, g, how, (uint32_t)seq, p + HEAD, len) == -1) {
		MUST(send_one(r, g, 0, r->next, p, 0) == -1);
		return false;
	}
	learn(m, how, (uint32_t)seq, p + HEAD, len);
	MUST(r->next == m->next);
	MUST(r->waiting_len <= LIMIT_RECORD_WAITING);
	MUST(r->plain.len == m->stream.len - m->taken);
	MUST(r->share.held >= r->plain.len + r->waiting_len);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_reader	 r;
	struct quota		 q;
	struct model		 m;
	struct gcm		 g;
	size_t			 len, n, left;

	memset(&m, 0, sizeof(m));
	buf_init(&m.stream, (size_t)1 << 30);
	MUST(gcm_init(&g, key, true) == 0);
	MUST(record_reader_init(&r, key) == 0);
	quota_init(&q);
	left = q.left;
	record_reader_share(&r, &q);
	for (; size >= HEAD; data += HEAD + len, size -= HEAD + len) {
		len = (size_t)(data[2] | data[3] << 8);
		if (len > size - HEAD)
			len = size - HEAD;
		if (!step(&r, &g, &m, data, len))
			break;
	}
	/* What was whole is still there. */
	for (n = r.messages; n > 0 && !r.is_broken; n--)
		take(&r, &m);
	record_reader_fini(&r);
	MUST(q.left == left);
	gcm_fini(&g);
	buf_fini(&m.stream);
	return 0;
}
