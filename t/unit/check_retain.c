/*
 * worker/proc/retain.c: windows and rings under random operations beside a
 * model that is too simple to be wrong, and the rules of eviction.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "worker/proc/retain.h"

#define RINGS		3
#define MODEL_MAX	4096
#define STEPS		20000
#define CAP_MAX		300

#define MUST(x)	do { if (!(x)) ck_abort_msg("%s", #x); } while (0)

/* What the model knows of a chunk. */
struct shadow {
	struct chunk		*c;
	uint64_t		 seq, pos, acked;	/* the how many-th */
	uint32_t		 len, cap;
	uint8_t			 stream, fill;
	enum chunk_state	 state;
	bool			 sealed;
};

struct model {
	struct shadow	 list[RINGS][MODEL_MAX];
	size_t		 n[RINGS];
	uint64_t	 next_seq[RINGS];
	uint64_t	 pos;
	uint64_t	 acks;
};

static uint32_t	 seed;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static struct chunk *
add(struct retain *r, size_t cap, size_t len, uint8_t stream, int fill)
{
	struct chunk	*c;

	c = chunk_new(cap);
	MUST(c != NULL && c->cap == cap && c->len == 0);
	memset(c->data, fill, len);
	c->len = (uint32_t)len;
	retain_add(r, c, stream);
	return c;
}

static void
model_add(struct model *m, struct retain *rings, unsigned i)
{
	struct shadow	*s = &m->list[i][m->n[i]++];

	MUST(m->n[i] < MODEL_MAX);
	s->cap = draw(CAP_MAX);
	s->len = draw(s->cap + 1);
	s->stream = (uint8_t)draw(2);
	s->fill = (uint8_t)draw(256);
	s->seq = m->next_seq[i]++;
	s->state = CHUNK_SPOOLED;
	s->sealed = false;
	s->c = add(&rings[i], s->cap, s->len, s->stream, s->fill);
}

static void
model_append(struct model *m, struct retain *rings, unsigned i)
{
	struct shadow	*s = m->n[i] > 0 ? &m->list[i][m->n[i] - 1] : NULL;
	uint8_t		 data[CAP_MAX], stream = (uint8_t)draw(2);
	size_t		 len = draw(40);
	bool		 fits;

	fits = s != NULL && !s->sealed && s->stream == stream &&
	    s->seq == m->next_seq[i] - 1 && s->len + len <= s->cap;
	memset(data, s != NULL ? s->fill : 0, sizeof(data));
	MUST(retain_append(&rings[i], stream, data, len) == fits);
	if (fits)
		s->len += (uint32_t)len;
}

/* Put one on the connection: any of them, in whatever state. */
static void
model_send(struct model *m, struct window *w, unsigned i)
{
	struct shadow	*s;

	if (m->n[i] == 0)
		return;
	s = &m->list[i][draw((uint32_t)m->n[i])];
	m->pos += s->len + 10;
	window_sent(w, s->c, m->pos);
	s->sealed = true;
	if (s->state == CHUNK_SPOOLED) {
		s->state = CHUNK_SENT;
		s->pos = m->pos;
	}
}

static void
model_evict(struct model *m, unsigned i, size_t bytes, size_t count)
{
	size_t	 least = bytes < LIMIT_RETAINED ? bytes : LIMIT_RETAINED;
	size_t	 few = count < LIMIT_CHUNKS ? count : LIMIT_CHUNKS;
	size_t	 k, sum, acked, nacked, oldest;

	for (;;) {
		oldest = m->n[i];
		sum = acked = nacked = 0;
		for (k = 0; k < m->n[i]; k++) {
			sum += m->list[i][k].len;
			if (m->list[i][k].state != CHUNK_ACKED)
				continue;
			acked += m->list[i][k].len;
			nacked++;
			if (oldest == m->n[i] || m->list[i][k].acked <
			    m->list[i][oldest].acked)
				oldest = k;
		}
		if ((sum <= bytes || acked <= least) &&
		    (m->n[i] <= count || nacked <= few))
			return;
		m->n[i]--;
		memmove(&m->list[i][oldest], &m->list[i][oldest + 1],
		    (m->n[i] - oldest) * sizeof(m->list[i][0]));
	}
}

/* The one of a ring that was sent first and may be acknowledged, or NULL. */
static struct shadow *
model_next_ack(struct model *m, unsigned i, uint64_t pos)
{
	struct shadow	*s = NULL;
	size_t		 k;

	for (k = 0; k < m->n[i]; k++)
		if (m->list[i][k].state == CHUNK_SENT &&
		    m->list[i][k].pos <= pos &&
		    (s == NULL || m->list[i][k].pos < s->pos))
			s = &m->list[i][k];
	return s;
}

static void
model_ack(struct model *m, struct window *w)
{
	uint64_t	 pos = m->pos - draw((uint32_t)(m->pos / 2 + 1));
	struct shadow	*s;
	unsigned	 i;

	window_ack(w, pos);
	for (i = 0; i < RINGS; i++) {
		while ((s = model_next_ack(m, i, pos)) != NULL) {
			s->state = CHUNK_ACKED;
			s->acked = ++m->acks;
		}
		model_evict(m, i, LIMIT_RETAINED, LIMIT_CHUNKS);
	}
}

static void
model_lost(struct model *m, struct window *w)
{
	unsigned	 i;
	size_t		 k;

	window_lost(w);
	m->pos = 0;
	for (i = 0; i < RINGS; i++)
		for (k = 0; k < m->n[i]; k++)
			if (m->list[i][k].state == CHUNK_SENT)
				m->list[i][k].state = CHUNK_SPOOLED;
}

static void
compare(const struct model *m, const struct retain *rings,
    const struct window *w)
{
	const struct shadow	*s;
	struct chunk		*c;
	size_t			 sent = 0, spooled = 0, unread, bytes, k;
	uint64_t		 after, last = 0;
	unsigned		 i;

	for (i = 0; i < RINGS; i++) {
		unread = bytes = 0;
		c = TAILQ_FIRST(&rings[i].chunks);
		for (k = 0; k < m->n[i]; k++, c = TAILQ_NEXT(c, retain_entry)) {
			s = &m->list[i][k];
			MUST(c == s->c && c->seq == s->seq);
			MUST(c->len == s->len && c->state == s->state);
			MUST(c->sealed == s->sealed && c->stream == s->stream);
			MUST(c->len == 0 || (c->data[0] == s->fill &&
			    c->data[c->len - 1] == s->fill));
			bytes += s->len;
			if (s->state != CHUNK_ACKED)
				unread += chunk_cost(c);
			if (s->state == CHUNK_SENT)
				sent += chunk_cost(c);
			if (s->state == CHUNK_SPOOLED)
				spooled += chunk_cost(c);
		}
		MUST(c == NULL && rings[i].count == m->n[i]);
		MUST(rings[i].bytes == bytes);
		MUST(rings[i].unread_cost == unread);
		MUST(rings[i].next_seq == m->next_seq[i]);
		after = draw((uint32_t)m->next_seq[i] + 2);
		for (k = 0; k < m->n[i] && m->list[i][k].seq <= after; k++)
			continue;
		MUST(retain_after(&rings[i], after) ==
		    (k < m->n[i] ? m->list[i][k].c : NULL));
	}
	MUST(w->sent_cost == sent && w->spooled_cost == spooled);
	TAILQ_FOREACH(c, &w->sent, state_entry) {
		MUST(c->pos >= last);
		last = c->pos;
	}
}

START_TEST(test_random)
{
	static struct model	 m;
	struct retain		 rings[RINGS];
	struct window		 w;
	unsigned		 i, step;
	size_t			 bytes, count;

	seed = (uint32_t)_i + 1;
	memset(&m, 0, sizeof(m));
	window_init(&w);
	for (i = 0; i < RINGS; i++) {
		retain_init(&rings[i], &w);
		m.next_seq[i] = 1;
	}
	for (step = 0; step < STEPS; step++) {
		i = draw(RINGS);
		switch (draw(12)) {
		case 0: case 1: case 2:
			if (m.n[i] < 400)
				model_add(&m, rings, i);
			break;
		case 3:
			model_append(&m, rings, i);
			break;
		case 4: case 5: case 6: case 7:
			model_send(&m, &w, i);
			break;
		case 8: case 9:
			model_ack(&m, &w);
			break;
		case 10:
			bytes = draw(20000);
			count = draw(200);
			retain_evict_to(&rings[i], bytes, count);
			model_evict(&m, i, bytes, count);
			break;
		default:
			if (draw(20) == 0)
				model_lost(&m, &w);
			else
				rings[i].next_seq++, m.next_seq[i]++;
		}
		if (step % 16 == 0)
			compare(&m, rings, &w);
	}
	for (i = 0; i < RINGS; i++) {
		retain_fini(&rings[i]);
		m.n[i] = 0;
		MUST(rings[i].bytes == 0 && rings[i].count == 0);
		MUST(rings[i].unread_cost == 0);
	}
	MUST(w.sent_cost == 0 && w.spooled_cost == 0);
	MUST(TAILQ_EMPTY(&w.sent));
}
END_TEST

/* Nothing that was not acknowledged is dropped, whatever it costs. */
START_TEST(test_unread_stays)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*c;
	unsigned	 i;

	window_init(&w);
	retain_init(&r, &w);
	for (i = 0; i < 40; i++)
		add(&r, 65536, 65536, 0, 'x');
	retain_evict_to(&r, 0, 0);
	ck_assert_uint_eq(r.count, 40);
	i = 0;
	TAILQ_FOREACH(c, &r.chunks, retain_entry)
		window_sent(&w, c, ++i);
	retain_evict_to(&r, 0, 0);
	ck_assert_uint_eq(r.count, 40);
	ck_assert_uint_eq(w.spooled_cost, 0);
	/*
	 * Acknowledged: with what is on its way LIMIT_RETAINED bytes stay, but
	 * twice what may not have arrived for all that.
	 */
	window_ack(&w, 16);
	ck_assert_uint_eq(r.bytes, 24 * 65536 + 2 * LIMIT_UNPROVEN);
	window_ack(&w, 30);
	ck_assert_uint_eq(r.bytes, 10 * 65536 + 2 * LIMIT_UNPROVEN);
	window_ack(&w, 36);
	ck_assert_uint_eq(r.bytes, LIMIT_RETAINED);
	window_ack(&w, 40);
	ck_assert_uint_eq(r.bytes, LIMIT_RETAINED);
	ck_assert_uint_eq(r.unread_cost, 0);
	ck_assert_uint_eq(w.sent_cost, 0);
	retain_fini(&r);
}
END_TEST

/*
 * What was acknowledged last stays readable, however much that is not comes
 * behind it: a receipt of a rendezvous is no proof that the harness has it.
 */
START_TEST(test_unread_behind)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*first, *last;
	unsigned	 i;

	window_init(&w);
	retain_init(&r, &w);
	r.catching_up = _i == 1;
	first = add(&r, 65536, 65536, 0, 'a');
	add(&r, 65536, 65536, 0, 'b');
	last = add(&r, LIMIT_RETAINED - 65536, LIMIT_RETAINED - 65536, 0,
	    'c');
	for (i = 0; i < LIMIT_CATCH_UP + 1; i++)
		add(&r, LIMIT_RETAINED, LIMIT_RETAINED, 0, 'x');
	window_sent(&w, first, 1);
	window_sent(&w, TAILQ_NEXT(first, retain_entry), 2);
	window_sent(&w, last, 3);
	window_ack(&w, 2);
	ck_assert_ptr_eq(TAILQ_FIRST(&r.chunks), first);
	window_ack(&w, 3);
	window_lost(&w);
	retain_evict(&r);
	ck_assert_uint_eq(r.count, LIMIT_CATCH_UP + 3);
	ck_assert_int_eq(TAILQ_FIRST(&r.chunks)->data[0], 'b');
	ck_assert_uint_eq(r.bytes - LIMIT_RETAINED,
	    (LIMIT_CATCH_UP + 1) * (size_t)LIMIT_RETAINED);
	retain_fini(&r);
}
END_TEST

/* More of what arrived stays while a client may still ask for it. */
START_TEST(test_catching_up)
{
	struct window	 w;
	struct retain	 r;
	unsigned	 i, n = (LIMIT_CATCH_UP + 2) * LIMIT_RETAINED / 65536;

	window_init(&w);
	retain_init(&r, &w);
	r.catching_up = true;
	for (i = 1; i <= n; i++)
		window_sent(&w, add(&r, 65536, 65536, 0, 'x'), i);
	window_ack(&w, n);
	ck_assert_uint_eq(r.bytes, LIMIT_CATCH_UP * (size_t)LIMIT_RETAINED);
	r.catching_up = false;
	retain_evict(&r);
	ck_assert_uint_eq(r.bytes, LIMIT_RETAINED);
	retain_fini(&r);
	window_fini(&w);
}
END_TEST

/* An old chunk in the way does not keep newer acknowledged ones. */
START_TEST(test_order_of_eviction)
{
	struct chunk	*a, *b;
	struct window	 w;
	struct retain	 r;

	window_init(&w);
	retain_init(&r, &w);
	a = add(&r, 10, 10, 0, 'a');
	b = add(&r, 10, 10, 0, 'b');
	window_sent(&w, b, 1);
	window_ack(&w, 1);
	retain_evict_to(&r, 0, 0);
	ck_assert_uint_eq(r.count, 1);
	ck_assert_ptr_eq(TAILQ_FIRST(&r.chunks), a);
	window_sent(&w, a, 2);
	window_ack(&w, 2);
	retain_evict_to(&r, 0, 0);
	ck_assert_uint_eq(r.count, 0);
	ck_assert_uint_eq(r.next_seq, 3);
	retain_fini(&r);
}
END_TEST

/* What there is no room for in memory is in a file, and the same to all. */
START_TEST(test_file)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*c;
	unsigned	 i, n = 0;

	window_init(&w);
	w.memory_max = 200000;
	retain_init(&r, &w);
	for (i = 0; i < 100; i++) {
		ck_assert_ptr_nonnull(c = window_chunk(&w, 65536));
		memset(c->data, (int)i, 65536);
		c->len = 65536;
		retain_add(&r, c, 0);
		n += c->part != NULL;
	}
	ck_assert_uint_eq(n, 97);	/* three fit */
	ck_assert_uint_le(w.memory, w.memory_max);
	ck_assert(!window_is_stuck(&w));
	i = 0;
	TAILQ_FOREACH(c, &r.chunks, retain_entry) {
		ck_assert_int_eq(c->data[0], (int)i);
		ck_assert_int_eq(c->data[65535], (int)i);
		window_sent(&w, c, ++i);
	}
	window_ack(&w, 50);
	ck_assert_uint_eq(w.memory, 0);		/* the oldest were there */
	ck_assert(window_has_memory(&w, 65536));
	retain_fini(&r);
	window_fini(&w);
}
END_TEST

/* As much as may be in memory is. */
START_TEST(test_file_limit)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*c;
	uint64_t	 cost = 0;
	int		 i, n = 0;

	for (i = 0; i < 5; i++) {
		if (i < 2) {
			window_init(&w);
			w.memory_max = i == 0 ? 1000000 :
			    3 * cost - (uint64_t)_i;
			retain_init(&r, &w);
		}
		ck_assert_ptr_nonnull(c = window_chunk(&w, 65536));
		c->len = 65536;
		retain_add(&r, c, 0);
		n += c->part == NULL;
		if (i == 0) {
			cost = w.memory;
			n = 0;
			retain_fini(&r);
			window_fini(&w);
		}
	}
	ck_assert_int_eq(n, 3 - _i);
	retain_fini(&r);
	window_fini(&w);
}
END_TEST

/* On a disk that is full one more is in memory, and then no more is read. */
START_TEST(test_full_disk)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*c;
	struct rlimit	 was, none = { 0, 0 };

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	none.rlim_max = was.rlim_max;
	window_init(&w);
	w.memory_max = 1000;
	retain_init(&r, &w);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	ck_assert(!window_is_stuck(&w));
	ck_assert_ptr_nonnull(c = window_chunk(&w, 4096));
	c->len = 4096;
	retain_add(&r, c, 0);
	ck_assert_ptr_null(c->part);
	ck_assert(window_is_stuck(&w));
	window_look_again(&w);
	ck_assert(window_is_stuck(&w));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
	window_look_again(&w);
	ck_assert(!window_is_stuck(&w));
	ck_assert_ptr_nonnull(c = window_chunk(&w, 4096));
	retain_add(&r, c, 0);
	ck_assert_ptr_nonnull(c->part);
	retain_fini(&r);
	window_fini(&w);
}
END_TEST

static void
numbers_are(const struct retain *r, const char *seqs, const char *fills)
{
	struct chunk	*c;
	char		 seq[100], fill[100];
	size_t		 n = 0, k = 0;

	TAILQ_FOREACH(c, &r->chunks, retain_entry) {
		n += (size_t)snprintf(seq + n, sizeof(seq) - n, "%llu ",
		    (unsigned long long)c->seq);
		fill[k++] = (char)c->data[0];
	}
	fill[k] = '\0';
	ck_assert_str_eq(seq, seqs);
	ck_assert_str_eq(fill, fills);
}

/* The oldest go, but never what a client may have; numbers have no gap then. */
START_TEST(test_drop)
{
	struct window	 w;
	struct retain	 r;
	uint64_t	 after = 0, by = 0;
	size_t		 cost;

	window_init(&w);
	retain_init(&r, &w);
	ck_assert(!retain_drop_oldest(&r));
	window_sent(&w, add(&r, 10, 10, 0, 'a'), 1);
	window_lost(&w);
	add(&r, 10, 10, 0, 'b');
	ck_assert(!retain_drop_oldest(&r));	/* the newest */
	ck_assert_uint_eq(retain_close_gap(&r, &after, &by), 0);
	add(&r, 10, 10, 0, 'c');
	add(&r, 10, 10, 1, 'd');
	ck_assert(retain_drop_oldest(&r));
	ck_assert(retain_drop_oldest(&r));
	retain_exit(&r);
	add(&r, 10, 10, 0, 'e');
	ck_assert(retain_drop_oldest(&r));
	add(&r, 10, 10, 0, 'f');
	add(&r, 10, 10, 0, 'g');
	ck_assert(retain_drop_oldest(&r));
	ck_assert_uint_eq(r.next_seq, 9);
	ck_assert_uint_eq(retain_close_gap(&r, &after, &by), 40);
	ck_assert_uint_eq(after, 2);
	ck_assert_uint_eq(by, 3);
	ck_assert_uint_eq(r.exit_seq, 3);
	/* a, what stands for b to e, (exit), f, g */
	numbers_are(&r, "1 2 4 5 ", "a\nfg");
	ck_assert_uint_eq(r.next_seq, 6);
	ck_assert_ptr_nonnull(strstr((char *)TAILQ_NEXT(TAILQ_FIRST(&r.chunks),
	    retain_entry)->data, " 40 bytes of output were dropped"));
	/* Once more behind that. */
	ck_assert_uint_eq(retain_close_gap(&r, &after, &by), 0);
	window_sent(&w, retain_after(&r, 1), 2);
	ck_assert(retain_drop_oldest(&r));
	ck_assert_uint_eq(retain_close_gap(&r, &after, &by), 10);
	numbers_are(&r, "1 2 4 5 ", "a\n\ng");
	cost = w.spooled_cost + w.sent_cost;
	ck_assert_uint_eq(w.memory, cost);
	retain_fini(&r);
	ck_assert_uint_eq(w.spooled_cost + w.sent_cost, 0);
	window_fini(&w);
}
END_TEST

/* A reader's cursor acknowledges what it can have seen, and no more. */
START_TEST(test_cursor)
{
	struct chunk	*a, *b;
	struct window	 w;
	struct retain	 r;

	window_init(&w);
	retain_init(&r, &w);
	a = add(&r, 10, 10, 0, 'a');
	b = add(&r, 10, 10, 0, 'b');
	window_sent(&w, a, 1);
	window_lost(&w);
	retain_ack(&r, 2);
	ck_assert_int_eq(a->state, CHUNK_ACKED);
	ck_assert_int_eq(b->state, CHUNK_SPOOLED);
	retain_evict_to(&r, 0, 0);
	ck_assert_ptr_eq(TAILQ_FIRST(&r.chunks), b);
	retain_fini(&r);
	ck_assert_uint_eq(w.spooled_cost, 0);
}
END_TEST

/* What was sent and lost is spooled again, and not appended to. */
START_TEST(test_lost)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*a;

	window_init(&w);
	retain_init(&r, &w);
	a = add(&r, 100, 10, 1, 'a');
	ck_assert(retain_append(&r, 1, "bc", 2));
	ck_assert(!retain_append(&r, 0, "bc", 2));
	window_sent(&w, a, 100);
	ck_assert_uint_eq(w.sent_cost, chunk_cost(a));
	window_lost(&w);
	ck_assert_uint_eq(w.sent_cost, 0);
	ck_assert_uint_eq(w.spooled_cost, chunk_cost(a));
	ck_assert(!retain_append(&r, 1, "d", 1));
	window_ack(&w, 100);		/* of the old connection: nothing */
	ck_assert_int_eq(a->state, CHUNK_SPOOLED);
	retain_fini(&r);
	ck_assert_uint_eq(w.spooled_cost, 0);
}
END_TEST

/* Chunks of an eighth of a MiB each, all sent: the i-th up to position i. */
#define PIECE		(128 * 1024)
#define PIECES		64

static void
fill(struct window *w, struct retain *r)
{
	unsigned	 i;

	window_init(w);
	retain_init(r, w);
	for (i = 1; i <= PIECES; i++)
		window_sent(w, add(r, PIECE, PIECE, 0, (int)i), i);
}

/* All are there, in their order, with what was in them. */
static void
look(const struct retain *r, unsigned from)
{
	const struct chunk	*c;

	TAILQ_FOREACH(c, &r->chunks, retain_entry) {
		ck_assert_uint_eq(c->seq, from);
		ck_assert_uint_eq(c->data[0], from);
		ck_assert_uint_eq(c->data[c->len - 1], from);
		from++;
	}
	ck_assert_uint_eq(from, PIECES + 1);
}

/*
 * What a relay has is neither unread nor dropped until its time is over, and
 * then only if there is too much; beyond what memory may have it is in the
 * spool.
 */
START_TEST(test_relayed)
{
	struct window	 w;
	struct retain	 r;

	fill(&w, &r);
	w.retain = 20 * PIECE;
	window_relay(&w, PIECES / 2, 1000);
	window_relay(&w, PIECES, 2000);
	look(&r, 1);
	ck_assert_uint_eq(r.unread_cost, 0);
	ck_assert_uint_eq(r.relayed_count, PIECES);
	ck_assert_uint_le(w.relayed_memory, w.retain);
	ck_assert_uint_ge(w.relayed_memory, 18 * PIECE);
	ck_assert(!window_is_full(&w));
	ck_assert_uint_eq(window_due(&w), 1000 + LIMIT_RELAYED_MS);
	window_expire(&w, 999 + LIMIT_RELAYED_MS);
	look(&r, 1);
	window_expire(&w, 1000 + LIMIT_RELAYED_MS);
	/* Of those that were dropped the newest MiB stays. */
	look(&r, PIECES / 2 + 1 - 8);
	ck_assert_uint_eq(r.acked_count, 8);
	ck_assert_uint_eq(window_due(&w), 2000 + LIMIT_RELAYED_MS);
	window_expire(&w, 2000 + LIMIT_RELAYED_MS);
	ck_assert_uint_eq(window_due(&w), 0);
	ck_assert_uint_le(w.relayed_cost, w.retain);
	ck_assert_uint_ge(r.relayed_count, 18);
	retain_fini(&r);
	ck_assert_uint_eq(w.relayed_cost, 0);
	ck_assert_uint_eq(w.relayed_memory, 0);
	window_fini(&w);
}
END_TEST

/* All of it stays in memory while there is not too much there. */
START_TEST(test_relayed_memory)
{
	struct window	 w;
	struct retain	 r;

	fill(&w, &r);
	w.retain = 20 * PIECE;
	w.memory_max = w.memory - (uint64_t)_i;
	window_relay(&w, 1, 1000);
	ck_assert_uint_eq(r.relayed_count, 1);
	ck_assert_int_eq(TAILQ_FIRST(&r.chunks)->part != NULL, _i == 1);
	retain_fini(&r);
	window_fini(&w);
}
END_TEST

/* It is sent again when it is asked for, and its time begins anew. */
START_TEST(test_relayed_again)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*c;
	unsigned	 i = 0;

	fill(&w, &r);
	w.retain = PIECE;
	window_relay(&w, PIECES, 1000);
	window_lost(&w);
	TAILQ_FOREACH(c, &r.chunks, retain_entry)
		window_sent(&w, c, ++i);
	ck_assert_uint_eq(w.relayed_cost, 0);
	ck_assert_uint_gt(w.sent_cost, PIECES * PIECE);
	window_lost(&w);
	window_expire(&w, 1000 + LIMIT_RELAYED_MS);
	look(&r, 1);
	i = 0;
	TAILQ_FOREACH(c, &r.chunks, retain_entry)
		window_sent(&w, c, ++i);
	window_relay(&w, PIECES, 50000);
	window_expire(&w, 49999 + LIMIT_RELAYED_MS);
	look(&r, 1);
	/* The client's own word ends it. */
	retain_ack(&r, PIECES);
	retain_evict(&r);
	look(&r, PIECES - 8 + 1);
	ck_assert_uint_eq(r.relayed_count, 0);
	retain_fini(&r);
	window_fini(&w);
}
END_TEST

/* Without a setting, and of a client that says what it has. */
START_TEST(test_not_relayed)
{
	struct window	 w;
	struct retain	 r;

	fill(&w, &r);
	w.retain = _i == 0 ? 0 : PIECES * PIECE;
	if (_i == 0)
		window_relay(&w, PIECES, 1000);
	else
		window_ack(&w, PIECES);
	look(&r, PIECES - 8 + 1);
	retain_fini(&r);
	window_fini(&w);
}
END_TEST

/* More than there is room for holds back what comes, and is kept. */
START_TEST(test_relayed_full)
{
	struct rlimit	 none = { 0, 0 };
	struct window	 w;
	struct retain	 r;
	pid_t		 pid;
	int		 status;

	if ((pid = fork()) == 0) {
		signal(SIGXFSZ, SIG_IGN);
		MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
		fill(&w, &r);
		w.retain = PIECES / 4 * PIECE;
		window_relay(&w, PIECES / 4, 1000);
		MUST(!window_is_full(&w));
		window_relay(&w, PIECES, 1000);
		MUST(window_is_full(&w));
		MUST(r.relayed_count == PIECES && r.count == PIECES);
		window_expire(&w, 1000 + LIMIT_RELAYED_MS);
		MUST(!window_is_full(&w));
		retain_fini(&r);
		window_fini(&w);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("retain");
	TCase	*t = tcase_create("retain");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_random, 0, 8);
	tcase_add_test(t, test_unread_stays);
	tcase_add_loop_test(t, test_unread_behind, 0, 2);
	tcase_add_test(t, test_catching_up);
	tcase_add_test(t, test_order_of_eviction);
	tcase_add_test(t, test_file);
	tcase_add_loop_test(t, test_file_limit, 0, 2);
	tcase_add_test(t, test_full_disk);
	tcase_add_test(t, test_drop);
	tcase_add_test(t, test_cursor);
	tcase_add_test(t, test_lost);
	tcase_add_test(t, test_relayed);
	tcase_add_loop_test(t, test_relayed_memory, 0, 2);
	tcase_add_test(t, test_relayed_again);
	tcase_add_loop_test(t, test_not_relayed, 0, 2);
	tcase_add_test(t, test_relayed_full);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
