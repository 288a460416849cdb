/*
 * common/noise/stream.c: a table and its harnesses.  Frames go through
 * relay_encode() and relay_decode() on their way, both ways.
 */
#include <check.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/stream.h"

#define START	1000000		/* when a test begins, milliseconds */

/* A harness, or rather one stream of it. */
struct peer {
	char			 id[64];
	struct noise_initiator	 noise;
	uint8_t			 request[NOISE_REQUEST + 8192];
	size_t			 len;
	struct record_writer	 out;
	struct record_reader	 in;
	bool			 is_open;
	uint64_t		 number;	/* of its validation */
};

static struct noise_identity	 executor, harness;
static struct stream_table	*table;
static struct stream_act	 act;
static uint64_t			 now;

static const struct span	 environment = { "env", 3 };
static const struct span	 registration = { "reg", 3 };

static void
setup(void)
{
	struct noise_random	 r;

	ck_assert_int_ge(sodium_init(), 0);
	noise_random_fill(&r);
	ck_assert_int_eq(noise_identity_make(&executor, r.dh, r.kem), 0);
	noise_random_fill(&r);
	ck_assert_int_eq(noise_identity_make(&harness, r.dh, r.kem), 0);
	ck_assert((table = sodium_malloc(sizeof(*table))) != NULL);
	stream_table_init(table, &executor, environment, registration);
	now = START;
}

static void
teardown(void)
{
	struct stream	*s;

	while ((s = stream_take(table)) != NULL)
		stream_free(&s);
	stream_free(&s);
	stream_table_fini(table);
	ck_assert(sodium_is_zero((uint8_t *)table, sizeof(*table)));
	sodium_free(table);
}

/* --- what harnesses do -----------------------------------------------------*/

static struct peer *
peer_new(const char *id, const void *authorization, size_t len)
{
	struct peer		*p = calloc(1, sizeof(*p));
	struct noise_name	 name = {
		environment, registration, { id, strlen(id) }
	};
	struct noise_random	 r;
	int			 n;

	ck_assert(p != NULL && strlen(id) < sizeof(p->id));
	snprintf(p->id, sizeof(p->id), "%s", id);
	noise_random_fill(&r);
	n = noise_request(&p->noise, &harness, &executor.pub, &name, &r,
	    authorization, len, p->request);
	ck_assert_int_gt(n, 0);
	p->len = (size_t)n;
	return p;
}

static void
peer_free(struct peer *p)
{
	if (p->is_open) {
		record_writer_fini(&p->out);
		record_reader_fini(&p->in);
	}
	free(p);
}

static void
frame(enum relay_kind kind, const char *id, uint32_t seq, const void *payload,
    size_t len)
{
	static uint8_t		 raw[LIMIT_RELAY_MESSAGE];
	struct relay_frame	 f = {
		kind, { id, strlen(id) }, seq, payload, len, NULL
	};
	ssize_t			 n = relay_encode(&f, raw, sizeof(raw));

	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(relay_decode(&f, raw, (size_t)n), 0);
	memset(&act, 0xa5, sizeof(act));
	stream_on_frame(table, &f, now, &act);
	relay_free(&f);
}

static void
shake(struct peer *p)
{
	frame(RELAY_HANDSHAKE, p->id, 0, p->request, p->len);
	p->number = act.number;
}

static void
verdict(struct peer *p, enum stream_verdict v)
{
	memset(&act, 0xa5, sizeof(act));
	stream_validated(table, p->number, v, NULL, now, &act);
}

/* A record of one message. */
static void
tell(struct peer *p, const char *text)
{
	struct record_cutter	 c;
	uint8_t			 out[RECORD_SEALED_MAX];
	uint32_t		 seq;
	int			 n;

	ck_assert_int_eq(record_cut(&c, text, strlen(text)), 0);
	ck_assert_int_gt(n = record_seal(&p->out, &c, out, &seq), 0);
	frame(RELAY_DATA, p->id, seq, out, (size_t)n);
}

/* --- what must come of it --------------------------------------------------*/

/* That event, and no frame. */
static void
ck_event(enum stream_event event)
{
	ck_assert_int_eq((int)act.event, (int)event);
	ck_assert_uint_eq(act.len, 0);
	ck_assert(!act.is_reset);
}

/* The frame in act; the caller frees it. */
static void
ck_sent(struct relay_frame *f, enum relay_kind kind, const char *id)
{
	ck_assert_uint_gt(act.len, 0);
	ck_assert_int_eq(relay_decode(f, act.frame, act.len), 0);
	ck_assert_int_eq((int)f->kind, (int)kind);
	ck_assert(f->id.len == strlen(id) &&
	    memcmp(f->id.at, id, f->id.len) == 0);
}

/* That event, and a reset for id. */
static void
ck_reset(enum stream_event event, const char *id)
{
	struct relay_frame	 f;

	ck_assert_int_eq((int)act.event, (int)event);
	ck_assert(act.is_reset);
	ck_sent(&f, RELAY_RESET, id);
	ck_assert_uint_eq(f.len, strlen("noise_relay_protocol_error"));
	ck_assert_mem_eq(f.payload, "noise_relay_protocol_error", f.len);
	relay_free(&f);
}

static void
ck_counts(size_t active, size_t waiting)
{
	ck_assert_uint_eq(stream_active(table), active);
	ck_assert_uint_eq(stream_waiting(table), waiting);
	ck_assert((stream_deadline(table) == UINT64_MAX) == (waiting == 0));
}

/* Message 2 came: the harness has its keys. */
static void
ck_opened(struct peer *p)
{
	struct relay_frame	 f;
	struct noise_keys	 keys;
	uint8_t			 nothing[1];

	ck_assert_int_eq((int)act.event, (int)STREAM_OPENED);
	ck_assert(act.stream != NULL && !act.is_reset);
	ck_sent(&f, RELAY_HANDSHAKE, p->id);
	ck_assert_int_eq(noise_take_response(&p->noise, &harness, f.payload,
	    f.len, nothing, 0, &keys), 0);
	relay_free(&f);
	ck_assert_int_eq(record_writer_init(&p->out, keys.send), 0);
	ck_assert_int_eq(record_reader_init(&p->in, keys.receive), 0);
	p->is_open = true;
}

static struct stream *
open_peer(struct peer *p)
{
	shake(p);
	ck_event(STREAM_VALIDATE);
	verdict(p, STREAM_YES);
	ck_opened(p);
	return act.stream;
}

static void
ck_ended(struct stream *s)
{
	ck_assert_ptr_eq(act.stream, s);
	stream_free(&act.stream);
	ck_assert_ptr_null(act.stream);
}

static void
ck_message(struct record_reader *r, const char *text)
{
	uint8_t	*data;
	size_t	 len;

	ck_assert(record_first(r, &data, &len));
	ck_assert(len == strlen(text) && memcmp(data, text, len) == 0);
	record_drop(r);
}

/* --- one stream ------------------------------------------------------------*/

START_TEST(test_life)
{
	struct peer		*p = peer_new("stream-1", "letter", 6);
	struct record_cutter	 c;
	struct relay_frame	 f;
	struct stream		*s;
	uint8_t			 out[STREAM_FRAME_MAX];
	ssize_t			 n;

	shake(p);
	ck_event(STREAM_VALIDATE);
	ck_assert_uint_ne(act.number, 0);
	ck_assert_mem_eq(act.harness, &harness.pub, sizeof(harness.pub));
	ck_assert(span_is(act.authorization, "letter"));
	ck_assert(span_is(act.id, "stream-1"));
	ck_counts(0, 1);
	ck_assert_uint_eq(stream_deadline(table), now + 10000);

	verdict(p, STREAM_YES);
	ck_opened(p);
	s = act.stream;
	ck_assert_ptr_null(s->owner);
	ck_counts(1, 0);

	tell(p, "{\"id\":1}");
	ck_event(STREAM_ARRIVED);
	ck_assert_ptr_eq(act.stream, s);
	ck_message(&s->in, "{\"id\":1}");

	ck_assert_int_eq(record_cut(&c, "{\"result\":2}", 12), 0);
	ck_assert_int_gt(n = stream_seal(s, &c, out), 0);
	ck_assert_int_eq(relay_decode(&f, out, (size_t)n), 0);
	ck_assert_int_eq((int)f.kind, (int)RELAY_DATA);
	ck_assert(span_is(f.id, "stream-1"));
	ck_assert_int_eq(record_put(&p->in, f.seq, f.payload, f.len), 0);
	ck_message(&p->in, "{\"result\":2}");
	relay_free(&f);
	ck_assert_int_eq(stream_seal(s, &c, out), 0);

	frame(RELAY_RESET, p->id, 0, "whatever", 8);
	ck_event(STREAM_ENDED);
	ck_ended(s);
	ck_counts(0, 0);
	peer_free(p);
}
END_TEST

/* A message of many records, through STREAM_FRAME_MAX bytes each. */
START_TEST(test_long_message)
{
	static uint8_t		 data[1000000], out[STREAM_FRAME_MAX];
	struct peer		*p = peer_new("s", "", 0);
	struct stream		*s = open_peer(p);
	struct record_cutter	 c;
	struct relay_frame	 f;
	uint8_t			*got;
	size_t			 len;
	ssize_t			 n;
	int			 frames = 0;

	randombytes_buf(data, sizeof(data));
	ck_assert_int_eq(record_cut(&c, data, sizeof(data)), 0);
	for (; (n = stream_seal(s, &c, out)) > 0; frames++) {
		ck_assert_int_eq(relay_decode(&f, out, (size_t)n), 0);
		ck_assert_int_eq(record_put(&p->in, f.seq, f.payload, f.len),
		    0);
		relay_free(&f);
	}
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(frames, 17);
	ck_assert(record_first(&p->in, &got, &len));
	ck_assert_uint_eq(len, sizeof(data));
	ck_assert_mem_eq(got, data, len);
	/* Used up. */
	s->out.seq = RECORD_SEQ_END;
	ck_assert_int_eq(record_cut(&c, data, 1), 0);
	ck_assert_int_eq(stream_seal(s, &c, out), -1);
	ck_assert_int_eq(errno, EOVERFLOW);
	stream_end(table, s, &act);
	ck_reset(STREAM_ENDED, "s");
	ck_ended(s);
	peer_free(p);
}
END_TEST

/* What is ignored, known stream or not. */
START_TEST(test_ignored)
{
	struct peer	*p = peer_new("s", "", 0);
	int		 i;

	for (i = 0; i < 2; i++) {
		frame(RELAY_RESUME, "s", 0, NULL, 0);
		ck_event(STREAM_NOTHING);
		frame(RELAY_RESUME, "s", 77, NULL, 0);
		ck_event(STREAM_NOTHING);
		frame(RELAY_ACK, "s", 0, NULL, 0);
		ck_event(STREAM_NOTHING);
		frame(RELAY_HEARTBEAT, "s", 0, NULL, 0);
		ck_event(STREAM_NOTHING);
		frame(RELAY_RESET, "other", 0, "x", 1);
		ck_event(STREAM_NOTHING);
		if (i == 0)
			open_peer(p);
	}
	ck_counts(1, 0);
	peer_free(p);
}
END_TEST

/* Every fault of a stream is its own. */
START_TEST(test_faults)
{
	struct peer	*p = peer_new("good", "", 0), *q;
	struct stream	*s = open_peer(p), *bad;
	uint8_t		 noise[100] = { 1 };
	int		 i;

	for (i = 0; i < 4; i++) {
		q = peer_new("bad", "", 0);
		bad = open_peer(q);
		if (i == 0)
			frame(RELAY_DATA, "bad", 0, noise, sizeof(noise));
		else if (i == 1)
			frame(RELAY_DATA, "bad", 0, noise, 15);
		else if (i == 2)
			frame(RELAY_DATA, "bad", 65, noise, sizeof(noise));
		else
			frame(RELAY_DATA, "bad", UINT32_MAX, noise, 16);
		ck_reset(STREAM_ENDED, "bad");
		ck_ended(bad);
		/* It is forgotten at once. */
		frame(RELAY_DATA, "bad", 1, noise, sizeof(noise));
		ck_reset(STREAM_NOTHING, "bad");
		peer_free(q);
		tell(p, "still here");
		ck_event(STREAM_ARRIVED);
		ck_message(&s->in, "still here");
	}
	/* None of it is a failed handshake. */
	ck_assert_uint_eq(table->failures, 0);
	peer_free(p);
}
END_TEST

/* --- handshakes ------------------------------------------------------------*/

START_TEST(test_refused)
{
	struct peer	*p = peer_new("s", "", 0);

	shake(p);
	verdict(p, STREAM_NO);
	ck_reset(STREAM_NOTHING, "s");
	ck_counts(0, 0);
	ck_assert_uint_eq(table->failures, 1);
	/* Numbers that nobody waits for. */
	verdict(p, STREAM_YES);
	ck_event(STREAM_NOTHING);
	p->number = 0;
	verdict(p, STREAM_YES);
	ck_event(STREAM_NOTHING);
	p->number = 4711;
	verdict(p, STREAM_NO);
	ck_event(STREAM_NOTHING);
	ck_assert_uint_eq(table->failures, 1);
	peer_free(p);
}
END_TEST

/* Our own credential is bad: message 2 says so. */
START_TEST(test_rejection)
{
	struct peer		*p = peer_new("s", "", 0);
	struct relay_frame	 f;
	struct noise_keys	 keys;
	uint8_t			 why[64];

	shake(p);
	verdict(p, STREAM_UNKNOWN_US);
	ck_assert_int_eq((int)act.event, (int)STREAM_NOTHING);
	ck_assert(!act.is_reset && act.stream == NULL);
	ck_sent(&f, RELAY_HANDSHAKE, "s");
	ck_assert_uint_eq(f.len, 3465);
	ck_assert_int_eq(noise_take_response(&p->noise, &harness, f.payload,
	    f.len, why, sizeof(why), &keys), 41);
	ck_assert_mem_eq(why, "codex-registry-authentication-rejected/v1", 41);
	relay_free(&f);
	ck_counts(0, 0);
	ck_assert_uint_eq(table->failures, 1);
	peer_free(p);
}
END_TEST

START_TEST(test_again)
{
	struct peer	*p = peer_new("s", "", 0), *q = peer_new("s", "", 0);
	struct stream	*s;

	/* While it waits: neither gets anything. */
	shake(p);
	shake(q);
	ck_reset(STREAM_FORGET, "s");
	ck_assert_uint_eq(act.number, p->number);
	ck_counts(0, 0);
	ck_assert_uint_eq(table->failures, 1);

	/* Under a new number; the old answer is not for it. */
	shake(q);
	ck_event(STREAM_VALIDATE);
	ck_assert_uint_ne(q->number, p->number);
	verdict(p, STREAM_YES);
	ck_event(STREAM_NOTHING);
	verdict(q, STREAM_YES);
	ck_opened(q);
	s = act.stream;

	/* While it is active: that one goes on. */
	shake(p);
	ck_reset(STREAM_NOTHING, "s");
	tell(q, "on");
	ck_event(STREAM_ARRIVED);
	ck_message(&s->in, "on");
	ck_counts(1, 0);
	ck_assert_uint_eq(table->failures, 1);
	peer_free(p);
	peer_free(q);
}
END_TEST

/* Reset, and data, ahead of message 2. */
START_TEST(test_too_early)
{
	struct peer	*p = peer_new("s", "", 0);

	shake(p);
	frame(RELAY_RESET, "s", 0, "x", 1);
	ck_event(STREAM_FORGET);
	ck_assert_uint_eq(act.number, p->number);
	ck_counts(0, 0);
	ck_assert_uint_eq(table->failures, 0);
	verdict(p, STREAM_YES);
	ck_event(STREAM_NOTHING);

	shake(p);
	frame(RELAY_DATA, "s", 0, "x", 1);
	ck_reset(STREAM_FORGET, "s");
	ck_assert_uint_eq(act.number, p->number);
	ck_counts(0, 0);
	ck_assert_uint_eq(table->failures, 1);

	frame(RELAY_DATA, "nobody", 0, "x", 1);
	ck_reset(STREAM_NOTHING, "nobody");
	ck_assert_uint_eq(table->failures, 1);
	peer_free(p);
}
END_TEST

START_TEST(test_authorization)
{
	static char	 text[LIMIT_RELAY_AUTHORIZATION + 1];
	struct peer	*p;

	memset(text, 'a', sizeof(text));
	p = peer_new("s", text, sizeof(text) - 1);
	shake(p);
	ck_event(STREAM_VALIDATE);
	ck_assert_uint_eq(act.authorization.len, sizeof(text) - 1);
	ck_assert_mem_eq(act.authorization.at, text, sizeof(text) - 1);
	peer_free(p);

	p = peer_new("t", text, sizeof(text));
	shake(p);
	ck_reset(STREAM_NOTHING, "t");
	ck_assert_uint_eq(table->failures, 1);
	peer_free(p);

	p = peer_new("u", "a\xff", 2);
	shake(p);
	ck_reset(STREAM_NOTHING, "u");
	ck_assert_uint_eq(table->failures, 2);
	ck_counts(0, 1);
	peer_free(p);
}
END_TEST

/* Damaged, short, and for another stream. */
START_TEST(test_bad_messages)
{
	struct peer	*p = peer_new("s", "", 0);

	p->request[2000] ^= 1;
	shake(p);
	ck_reset(STREAM_NOTHING, "s");
	p->request[2000] ^= 1;
	frame(RELAY_HANDSHAKE, "s", 0, p->request, 1);
	ck_reset(STREAM_NOTHING, "s");
	frame(RELAY_HANDSHAKE, "t", 0, p->request, p->len);
	ck_reset(STREAM_NOTHING, "t");
	ck_assert_uint_eq(table->failures, 3);
	ck_counts(0, 0);
	shake(p);
	ck_event(STREAM_VALIDATE);
	peer_free(p);
}
END_TEST

START_TEST(test_deadline)
{
	struct peer	*p = peer_new("s", "", 0), *q = peer_new("t", "", 0);

	ck_assert(!stream_on_time(table, now + 100000, &act));
	shake(p);
	now += 4000;
	shake(q);
	ck_assert_uint_eq(stream_deadline(table), START + 10000);
	now = START + 9999;
	ck_assert(!stream_on_time(table, now, &act));
	ck_event(STREAM_NOTHING);
	now++;
	ck_assert(stream_on_time(table, now, &act));
	ck_reset(STREAM_FORGET, "s");
	ck_assert_uint_eq(act.number, p->number);
	ck_assert(!stream_on_time(table, now, &act));
	ck_assert_uint_eq(stream_deadline(table), START + 14000);
	ck_assert_uint_eq(table->failures, 1);
	/* Too late. */
	verdict(p, STREAM_YES);
	ck_event(STREAM_NOTHING);
	verdict(q, STREAM_YES);
	ck_opened(q);
	peer_free(p);
	peer_free(q);
}
END_TEST

/* --- many ------------------------------------------------------------------*/

static void
fail_handshakes(unsigned n)
{
	for (; n > 0; n--) {
		frame(RELAY_HANDSHAKE, "bad", 0, "x", 1);
		ck_reset(STREAM_NOTHING, "bad");
	}
}

START_TEST(test_pause)
{
	struct peer	*p = peer_new("s", "", 0), *q = peer_new("t", "", 0),
			*w = peer_new("w", "", 0);
	struct stream	*s;

	fail_handshakes(7);
	/* A success forgets nothing. */
	s = open_peer(p);
	shake(w);
	ck_event(STREAM_VALIDATE);
	fail_handshakes(1);
	shake(q);
	ck_reset(STREAM_NOTHING, "t");
	/* What was under way goes on, and so do streams. */
	verdict(w, STREAM_YES);
	ck_opened(w);
	tell(p, "on");
	ck_event(STREAM_ARRIVED);
	ck_message(&s->in, "on");
	/* Refused ones do not lengthen it. */
	now += 9999;
	fail_handshakes(20);
	shake(q);
	ck_reset(STREAM_NOTHING, "t");
	now++;
	shake(q);
	ck_event(STREAM_VALIDATE);
	/* The count starts anew. */
	fail_handshakes(7);
	verdict(q, STREAM_YES);
	ck_opened(q);
	fail_handshakes(1);
	ck_assert_uint_eq(table->paused_until, now + 10000);
	peer_free(p);
	peer_free(q);
	peer_free(w);
}
END_TEST

static struct peer *
peer_of(int i)
{
	char	 id[32];

	snprintf(id, sizeof(id), "stream-%d", i);
	return peer_new(id, "", 0);
}

/*
 * Those that were under way when it began and fail meanwhile neither lengthen
 * it nor count for the next one.
 */
START_TEST(test_fail_in_pause)
{
	struct peer	*p[LIMIT_STREAM_FAILURES], *q = peer_new("q", "", 0);
	uint64_t	 end = now + LIMIT_STREAM_PAUSE;
	int		 i;

	for (i = 0; i < LIMIT_STREAM_FAILURES; i++) {
		p[i] = peer_of(i);
		shake(p[i]);
		ck_event(STREAM_VALIDATE);
	}
	fail_handshakes(LIMIT_STREAM_FAILURES);
	ck_assert_uint_eq(table->paused_until, end);
	now = end - 1;
	for (i = 0; i < LIMIT_STREAM_FAILURES; i++) {
		verdict(p[i], STREAM_NO);
		ck_reset(STREAM_NOTHING, p[i]->id);
		peer_free(p[i]);
	}
	ck_assert_uint_eq(table->paused_until, end);
	now = end;
	fail_handshakes(LIMIT_STREAM_FAILURES - 1);
	shake(q);
	ck_event(STREAM_VALIDATE);
	peer_free(q);
}
END_TEST

/* A flood of handshakes costs no cryptography during a pause. */
START_TEST(test_pause_is_cheap)
{
	struct peer	*p = peer_new("s", "", 0);
	int		 i;

	fail_handshakes(8);
	for (i = 0; i < 10000; i++) {
		shake(p);
		if (act.event != STREAM_NOTHING || !act.is_reset)
			ck_abort_msg("read");
	}
	ck_counts(0, 0);
	peer_free(p);
}
END_TEST

START_TEST(test_pending_full)
{
	struct peer	*p[LIMIT_STREAMS_PENDING + 1];
	int		 i, n = LIMIT_STREAMS_PENDING;

	for (i = 0; i <= n; i++) {
		p[i] = peer_of(i);
		shake(p[i]);
		if (i < n)
			ck_event(STREAM_VALIDATE);
		else
			ck_reset(STREAM_NOTHING, p[i]->id);
	}
	ck_counts(0, (size_t)n);
	ck_assert_uint_eq(table->failures, 0);
	/* In any order; one place is free again. */
	verdict(p[5], STREAM_YES);
	ck_opened(p[5]);
	shake(p[n]);
	ck_event(STREAM_VALIDATE);
	ck_counts(1, (size_t)n);
	/* All of them run out. */
	now += LIMIT_STREAM_VALIDATE;
	for (i = 0; i < n; i++)
		ck_assert(stream_on_time(table, now, &act));
	ck_assert(!stream_on_time(table, now, &act));
	ck_counts(1, 0);
	ck_assert_uint_eq(table->paused_until, now + 10000);
	for (i = 0; i <= n; i++)
		peer_free(p[i]);
}
END_TEST

/* 128 and no more: neither new ones nor those that the registry allows. */
START_TEST(test_active_full)
{
	struct peer	*p[LIMIT_STREAMS + 2];
	struct stream	*s = NULL;
	int		 i, n = LIMIT_STREAMS;

	for (i = 0; i < n + 2; i++)
		p[i] = peer_of(i);
	for (i = 0; i < n - 1; i++)
		s = open_peer(p[i]);
	shake(p[n - 1]);
	shake(p[n]);
	ck_event(STREAM_VALIDATE);
	verdict(p[n - 1], STREAM_YES);
	ck_opened(p[n - 1]);
	verdict(p[n], STREAM_YES);
	ck_reset(STREAM_NOTHING, p[n]->id);
	shake(p[n + 1]);
	ck_reset(STREAM_NOTHING, p[n + 1]->id);
	ck_counts((size_t)n, 0);
	ck_assert_uint_eq(table->failures, 0);
	/* Each is itself. */
	for (i = 0; i < n; i++) {
		tell(p[i], p[i]->id);
		ck_event(STREAM_ARRIVED);
		ck_message(&act.stream->in, p[i]->id);
	}
	stream_end(table, s, &act);
	ck_reset(STREAM_ENDED, p[n - 2]->id);
	ck_ended(s);
	open_peer(p[n + 1]);
	ck_counts((size_t)n, 0);
	for (i = 0; i < n + 2; i++)
		peer_free(p[i]);
}
END_TEST

/* The websocket is lost: every stream comes out once. */
START_TEST(test_lost)
{
	struct peer	*p[5];
	struct stream	*s;
	int		 i;

	for (i = 0; i < 5; i++) {
		p[i] = peer_of(i);
		open_peer(p[i])->owner = p[i];
	}
	for (i = 0; i < 5; i++) {
		ck_assert((s = stream_take(table)) != NULL);
		((struct peer *)s->owner)->number = 99;
		stream_free(&s);
	}
	ck_assert_ptr_null(stream_take(table));
	for (i = 0; i < 5; i++) {
		ck_assert_uint_eq(p[i]->number, 99);
		peer_free(p[i]);
	}
	ck_counts(0, 0);
}
END_TEST

/* Message 2 byte for byte is in check_noise; here: given randomness is used. */
START_TEST(test_given_random)
{
	struct noise_random	 r;
	struct peer		*p = peer_new("s", "", 0);
	uint8_t			 first[STREAM_ACT_MAX];
	size_t			 len = 0;
	int			 i;

	noise_random_fill(&r);
	for (i = 0; i < 3; i++) {
		shake(p);
		stream_validated(table, p->number, STREAM_YES,
		    i < 2 ? &r : NULL, now, &act);
		ck_assert_int_eq((int)act.event, (int)STREAM_OPENED);
		if (i == 0) {
			len = act.len;
			memcpy(first, act.frame, len);
		}
		ck_assert_uint_eq(act.len, len);
		ck_assert_int_eq(memcmp(act.frame, first, len) == 0, i < 2);
		stream_end(table, act.stream, &act);
		stream_free(&act.stream);
	}
	peer_free(p);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("stream");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_life);
	tcase_add_test(tc, test_long_message);
	tcase_add_test(tc, test_ignored);
	tcase_add_test(tc, test_faults);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_rejection);
	tcase_add_test(tc, test_again);
	tcase_add_test(tc, test_too_early);
	tcase_add_test(tc, test_authorization);
	tcase_add_test(tc, test_bad_messages);
	tcase_add_test(tc, test_deadline);
	tcase_add_test(tc, test_pause);
	tcase_add_test(tc, test_fail_in_pause);
	tcase_add_test(tc, test_pause_is_cheap);
	tcase_add_test(tc, test_pending_full);
	tcase_add_test(tc, test_active_full);
	tcase_add_test(tc, test_lost);
	tcase_add_test(tc, test_given_random);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
