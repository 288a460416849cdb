/*
 * common/noise/stream.c against a rendezvous that damages, repeats, delays
 * and mixes up frames: whatever comes of it, nobody reads a byte
 * that the harness did not send, no answer opens a stream that it is not for,
 * and no number is used twice.
 */
#include <check.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/stream.h"

/* ck_assert() writes to a file each time: too slow for what comes often. */
#define MUST(claim)	do {						\
		if (!(claim))						\
			ck_abort_msg("%s", #claim);			\
	} while (0)

#define FRAMES	100
#define AFTER	3		/* frames that follow a damaged one */
#define RAW_MAX	1024		/* bytes of a frame */

static struct noise_identity	 executor, harness;
static struct stream_table	*table;
static struct stream_act	 act;
static uint64_t			 now = 1000000;

static const struct span	 environment = { "env", 3 };
static const struct span	 registration = { "reg", 3 };
static const uint8_t		 key[GCM_KEY] = { 1 };
static const uint8_t		 other_key[GCM_KEY] = { 2 };

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
}

static void
teardown(void)
{
	struct stream	*s;

	while ((s = stream_take(table)) != NULL)
		stream_free(&s);
	stream_table_fini(table);
	sodium_free(table);
}

/* --- frames ----------------------------------------------------------------*/

/* One as it is on the wire. */
struct raw {
	uint8_t	 data[RAW_MAX];
	size_t	 len;
	size_t	 payload;	/* bytes of it, the last ones */
};

static void
make(struct raw *r, enum relay_kind kind, const char *id, uint32_t seq,
    const void *payload, size_t len)
{
	struct relay_frame	 f = {
		kind, { id, strlen(id) }, seq, payload, len, NULL
	};
	ssize_t			 n = relay_encode(&f, r->data, RAW_MAX);

	MUST(n > 0);
	r->len = (size_t)n;
	r->payload = len;
}

/* It comes.  False: it was dropped before it came to the table. */
static bool
come(const uint8_t *data, size_t len)
{
	struct relay_frame	 f;

	memset(&act, 0, sizeof(act));
	if (relay_decode(&f, data, len) == -1)
		return false;
	stream_on_frame(table, &f, now, &act);
	relay_free(&f);
	return true;
}

/* --- an exchange: 100 frames of one stream ---------------------------------*/

static uint8_t		 plain[8192];	/* all of it, lengths and messages */
static size_t		 plain_len;
static size_t		 upto[FRAMES];	/* bytes that frames up to this hold */
static struct raw	 frames[FRAMES];
static struct stream	*s, *other;
static size_t		 taken;		/* bytes of plain */

static void
make_plain(void)
{
	size_t	 len;

	while (plain_len + 64 < sizeof(plain) && plain_len < FRAMES * 24) {
		len = 1 + randombytes_uniform(40);
		memset(plain + plain_len, 0, 3);
		plain[plain_len + 3] = (uint8_t)len;
		randombytes_buf(plain + plain_len + 4, len);
		plain_len += 4 + len;
	}
}

/* Cut anywhere: prefixes too, and some records are empty. */
static void
make_exchange(void)
{
	static const struct gcm_ad	 no_ad;
	uint8_t				 sealed[RAW_MAX];
	struct gcm			 gcm;
	size_t				 i, at = 0, n;

	make_plain();
	MUST(gcm_init(&gcm, key, true) == 0);
	for (i = 0; i < FRAMES; i++) {
		n = plain_len - at;
		if (i < FRAMES - 1)
			n = i % 10 == 0 ? 0 : randombytes_uniform((uint32_t)
			    (2 * n / (FRAMES - i) + 1));
		MUST(n + GCM_TAG + RELAY_ROOM < RAW_MAX);
		MUST(gcm_seal(&gcm, i, no_ad, plain + at, n, sealed) == 0);
		make(&frames[i], RELAY_DATA, "s", (uint32_t)i, sealed,
		    n + GCM_TAG);
		at += n;
		upto[i] = at;
	}
	gcm_fini(&gcm);
}

static struct stream *
insert(const char *id, const uint8_t *k)
{
	struct stream	*new = calloc(1, sizeof(*new));

	MUST(new != NULL);
	new->id.len = strlen(id);
	memcpy(new->id.text, id, new->id.len);
	MUST(record_reader_init(&new->in, k) == 0);
	MUST(record_writer_init(&new->out, k) == 0);
	MUST(map_add(&table->active, &new->node, new->id.text, new->id.len,
	    new) == 0);
	return new;
}

/* Whole messages, and nothing but those that were sent, in order. */
static void
take(void)
{
	uint8_t	*data;
	size_t	 len;

	while (record_first(&s->in, &data, &len)) {
		MUST(taken + 4 + len <= plain_len);
		MUST(plain[taken + 3] == len);
		MUST(memcmp(plain + taken + 4, data, len) == 0);
		taken += 4 + len;
		record_drop(&s->in);
	}
}

/* Whether all is there that was sent, up to frame i. */
static bool
is_complete(size_t i)
{
	return s->in.next > i && upto[i] - taken == s->in.plain.len;
}

static bool
is_there(void)
{
	return map_find(&table->active, "s", 1) == s;
}

/* The stream as it was before frame i, from what it was before frame i - 1. */
struct before {
	uint8_t	 data[256];
	size_t	 len, taken;
};

static void
save(struct before *b)
{
	MUST(s->in.messages == 0 && s->in.waiting_len == 0);
	b->len = s->in.plain.len;
	MUST(b->len < sizeof(b->data));
	if (b->len > 0)
		memcpy(b->data, buf_data(&s->in.plain), b->len);
	b->taken = taken;
}

static void
restore(const struct before *b, uint32_t i)
{
	record_reader_fini(&s->in);
	MUST(record_reader_init(&s->in, key) == 0);
	MUST(buf_put(&s->in.plain, b->data, b->len) == 0);
	s->in.next = i;
	taken = b->taken;
	if (!is_there())
		MUST(map_add(&table->active, &s->node, s->id.text, s->id.len,
		    s) == 0);
	table->failures = 0;
	table->paused_until = 0;
}

/* What may be done because of any frame, whatever it is. */
static void
ck_act(void)
{
	struct relay_frame	 f;

	MUST(act.event == STREAM_NOTHING || act.event == STREAM_ARRIVED ||
	    act.event == STREAM_ENDED);
	MUST(act.event == STREAM_NOTHING || act.stream == s);
	MUST((act.event != STREAM_ENDED) == is_there());
	if (act.len > 0) {
		MUST(act.is_reset);
		MUST(relay_decode(&f, act.frame, act.len) == 0);
		MUST(f.kind == RELAY_RESET);
		relay_free(&f);
	}
	MUST(map_find(&table->active, "other", 5) == other);
}

/* Frame i came damaged, then as it was, and those after it. */
static void
go_on(size_t i)
{
	size_t	 k;

	ck_act();
	take();
	for (k = i; k < i + AFTER && k < FRAMES && is_there(); k++) {
		MUST(come(frames[k].data, frames[k].len));
		ck_act();
		take();
	}
	MUST(!is_there() || is_complete(k - 1));
}

static void
ck_damaged(size_t i, const uint8_t *data, size_t len, bool is_payload,
    const struct before *b)
{
	bool	 came = come(data, len);

	if (is_payload) {
		/* The seal is broken: the end, and it says so. */
		MUST(came && act.event == STREAM_ENDED && act.len > 0);
		MUST(s->in.is_broken);
	}
	if (act.event == STREAM_ENDED)
		take();
	go_on(i);
	restore(b, (uint32_t)i);
}

static void
start_exchange(void)
{
	make_exchange();
	s = insert("s", key);
	other = insert("other", other_key);
}

/* Frame i as it is, for good. */
static void
step(size_t i)
{
	MUST(come(frames[i].data, frames[i].len));
	MUST(act.event == STREAM_ARRIVED && act.len == 0);
	take();
	MUST(is_complete(i));
}

/* Each bit of 100 frames, once. */
START_TEST(test_bits)
{
	struct before	 b;
	struct raw	*r;
	size_t		 i, n;
	int		 bit;

	start_exchange();
	for (i = 0; i < FRAMES; i++) {
		save(&b);
		r = &frames[i];
		for (n = 0; n < r->len; n++)
			for (bit = 0; bit < 8; bit++) {
				uint8_t	 copy[RAW_MAX];

				memcpy(copy, r->data, r->len);
				copy[n] ^= (uint8_t)(1 << bit);
				ck_damaged(i, copy, r->len,
				    n >= r->len - r->payload, &b);
			}
		step(i);
	}
	ck_assert_uint_eq(taken, plain_len);
}
END_TEST

/* Cut off, with rubbish behind it, and fields that are shorter or longer. */
START_TEST(test_lengths)
{
	struct before	 b;
	struct raw	*r, cut;
	uint8_t		 copy[RAW_MAX], *payload;
	size_t		 i, n;

	start_exchange();
	for (i = 0; i < FRAMES; i++) {
		save(&b);
		r = &frames[i];
		for (n = 0; n < r->len; n++) {
			MUST(!come(r->data, n));
			go_on(i);
			restore(&b, (uint32_t)i);
		}
		memcpy(copy, r->data, r->len);
		for (n = 0; n < 256; n++) {
			copy[r->len] = (uint8_t)n;
			ck_damaged(i, copy, r->len + 1, false, &b);
		}
		memset(copy, 0, sizeof(copy));
		memcpy(copy, r->data + r->len - r->payload, r->payload);
		payload = copy;
		for (n = 1; n <= r->payload + 20; n++) {
			if (n == r->payload)
				continue;
			make(&cut, RELAY_DATA, "s", (uint32_t)i, payload, n);
			ck_damaged(i, cut.data, cut.len, true, &b);
		}
		step(i);
	}
}
END_TEST

/* The frame of one place at another. */
START_TEST(test_places)
{
	struct before	 b;
	struct raw	 moved;
	size_t		 i, k;

	start_exchange();
	for (i = 0; i < FRAMES; i++) {
		save(&b);
		for (k = 0; k < FRAMES; k++) {
			if (k == i)
				continue;
			make(&moved, RELAY_DATA, "s", (uint32_t)i,
			    frames[k].data + frames[k].len -
			    frames[k].payload, frames[k].payload);
			ck_damaged(i, moved.data, moved.len, true, &b);
			make(&moved, RELAY_DATA, "s", (uint32_t)k,
			    frames[i].data + frames[i].len -
			    frames[i].payload, frames[i].payload);
			ck_damaged(i, moved.data, moved.len, false, &b);
		}
		/* Of this stream in another one: the other one ends. */
		make(&moved, RELAY_DATA, "other", 0, frames[i].data +
		    frames[i].len - frames[i].payload, frames[i].payload);
		MUST(come(moved.data, moved.len));
		MUST(act.event == STREAM_ENDED && act.stream == other);
		MUST(act.is_reset && is_there());
		stream_free(&other);
		other = insert("other", other_key);
		step(i);
	}
}
END_TEST

/* --- handshakes ------------------------------------------------------------*/

/* A harness's side of one. */
struct letter {
	struct noise_initiator	 noise;
	uint8_t			 text[NOISE_REQUEST + 6];
};

static void
write_letter(struct letter *l, const char *id)
{
	struct noise_name	 name = {
		environment, registration, { id, strlen(id) }
	};
	struct noise_random	 r;

	noise_random_fill(&r);
	MUST(noise_request(&l->noise, &harness, &executor.pub, &name, &r,
	    "letter", 6, l->text) == (int)sizeof(l->text));
}

static size_t
encode_letter(const struct letter *l, const char *id, uint8_t *out,
    size_t size)
{
	struct relay_frame	 f = {
		RELAY_HANDSHAKE, { id, strlen(id) }, 0, l->text,
		sizeof(l->text), NULL
	};
	ssize_t			 n = relay_encode(&f, out, size);

	MUST(n > 0);
	return (size_t)n;
}

/* Each bit of message 1 and its frame: the registry is never asked. */
START_TEST(test_letter_bits)
{
	static uint8_t		 raw[NOISE_REQUEST + 6 + RELAY_ROOM];
	const char		*measured = getenv("SANITIZERS");
	struct letter		 l;
	size_t			 n, len, step_ = measured != NULL &&
				    *measured != '\0' ? 13 : 1;
	int			 bit;

	write_letter(&l, "s");
	len = encode_letter(&l, "s", raw, sizeof(raw));
	for (n = 0; n < len; n += n < 32 ? 1 : step_)
		for (bit = 0; bit < 8; bit++) {
			raw[n] ^= (uint8_t)(1 << bit);
			if (come(raw, len)) {
				MUST(act.event == STREAM_NOTHING);
				MUST(act.len == 0 || act.is_reset);
				MUST(n < len - sizeof(l.text) || act.is_reset);
			}
			MUST(stream_waiting(table) == 0);
			table->failures = 0;
			raw[n] ^= (uint8_t)(1 << bit);
		}
	MUST(come(raw, len));
	ck_assert_int_eq((int)act.event, (int)STREAM_VALIDATE);
}
END_TEST

/* --- ids used again, and a registry that is late ---------------------------*/

#define IDS	3
#define LETTERS	4
#define STEPS	6000
#define NUMBERS	64		/* of validations that are remembered */

/* What must be true of an id. */
static struct {
	char		 id[2];
	struct letter	 letters[LETTERS];
	uint64_t	 number;	/* pending, or 0 */
	uint64_t	 deadline;
	size_t		 letter;	/* which one is pending */
	struct stream	*stream;	/* or active */
	struct record_writer out;
}				 model[IDS];
static uint64_t			 numbers[NUMBERS];	/* late ones too */
static size_t			 nnumbers;
static unsigned			 failures;
static uint64_t			 paused_until;
static unsigned			 late;			/* answers */

static void
count_failure(void)
{
	if (now >= paused_until && ++failures == LIMIT_STREAM_FAILURES) {
		failures = 0;
		paused_until = now + LIMIT_STREAM_PAUSE;
	}
}

static void
ck_done(enum stream_event event, bool is_reset, size_t id)
{
	struct relay_frame	 f;

	MUST(act.event == event);
	MUST(act.is_reset == is_reset);
	MUST((act.len > 0) == is_reset);
	if (!is_reset)
		return;
	MUST(relay_decode(&f, act.frame, act.len) == 0);
	MUST(f.kind == RELAY_RESET && span_is(f.id, model[id].id));
	relay_free(&f);
}

static void
forget(size_t id)
{
	MUST(act.number == model[id].number);
	model[id].number = 0;
}

static void
do_handshake(size_t id)
{
	static uint8_t	 raw[NOISE_REQUEST + 6 + RELAY_ROOM];
	size_t		 k = randombytes_uniform(LETTERS);

	MUST(come(raw, encode_letter(&model[id].letters[k], model[id].id, raw,
	    sizeof(raw))));
	if (model[id].stream != NULL) {
		ck_done(STREAM_NOTHING, true, id);
	} else if (model[id].number != 0) {
		ck_done(STREAM_FORGET, true, id);
		forget(id);
		count_failure();
	} else if (now < paused_until) {
		ck_done(STREAM_NOTHING, true, id);
	} else {
		ck_done(STREAM_VALIDATE, false, id);
		MUST(span_is(act.id, model[id].id));
		MUST(span_is(act.authorization, "letter"));
		model[id].number = act.number;
		model[id].deadline = now + LIMIT_STREAM_VALIDATE;
		model[id].letter = k;
		numbers[nnumbers++ % NUMBERS] = act.number;
	}
}

/* Message 2 is for this very letter; a stream has its keys. */
static void
read_answer(size_t id, bool is_open)
{
	struct noise_initiator	 i;
	struct relay_frame	 f;
	struct noise_keys	 keys;
	uint8_t			 text[64];
	int			 n;

	i = model[id].letters[model[id].letter].noise;
	MUST(!act.is_reset && act.len > 0);
	MUST(relay_decode(&f, act.frame, act.len) == 0);
	MUST(f.kind == RELAY_HANDSHAKE && span_is(f.id, model[id].id));
	n = noise_take_response(&i, &harness, f.payload, f.len, text,
	    sizeof(text), &keys);
	relay_free(&f);
	MUST(n == (is_open ? 0 : (int)strlen(STREAM_REJECTION)));
	if (!is_open)
		return;
	MUST(act.event == STREAM_OPENED && act.stream != NULL);
	model[id].stream = act.stream;
	MUST(record_writer_init(&model[id].out, keys.send) == 0);
}

/* An answer of the registry, to a question of now or of long ago. */
static void
do_verdict(void)
{
	uint64_t		 number = nnumbers == 0 ? 0 :
				    numbers[randombytes_uniform((uint32_t)
				    (nnumbers < NUMBERS ? nnumbers :
				    NUMBERS))];
	enum stream_verdict	 v = randombytes_uniform(3);
	size_t			 id;

	for (id = 0; id < IDS; id++)
		if (model[id].number == number)
			break;
	memset(&act, 0, sizeof(act));
	stream_validated(table, number, v, NULL, now, &act);
	if (number == 0 || id == IDS) {
		late += number != 0;
		ck_done(STREAM_NOTHING, false, 0);
		return;
	}
	if (v == STREAM_NO) {
		ck_done(STREAM_NOTHING, true, id);
	} else {
		MUST(v == STREAM_YES || act.event == STREAM_NOTHING);
		read_answer(id, v == STREAM_YES);
	}
	model[id].number = 0;
	if (v != STREAM_YES)
		count_failure();
}

static void
end_model(size_t id)
{
	MUST(act.stream == model[id].stream);
	record_writer_fini(&model[id].out);
	stream_free(&model[id].stream);
}

static void
do_reset(size_t id)
{
	struct raw	 r;

	make(&r, RELAY_RESET, model[id].id, 0, "x", 1);
	MUST(come(r.data, r.len));
	if (model[id].number != 0) {
		ck_done(STREAM_FORGET, false, id);
		forget(id);
	} else if (model[id].stream != NULL) {
		ck_done(STREAM_ENDED, false, id);
		end_model(id);
	} else {
		ck_done(STREAM_NOTHING, false, id);
	}
}

static void
do_data(size_t id, bool is_good)
{
	uint8_t			 sealed[RECORD_SEALED_MAX] = { 1 };
	struct record_cutter	 c;
	struct raw		 r;
	uint32_t		 seq = 0;
	uint8_t			*data;
	size_t			 len;
	int			 n = 20;

	if (model[id].stream != NULL && is_good) {
		MUST(record_cut(&c, model[id].id, 1) == 0);
		n = record_seal(&model[id].out, &c, sealed, &seq);
	} else if (model[id].stream != NULL) {
		seq = model[id].out.seq;
	}
	make(&r, RELAY_DATA, model[id].id, seq, sealed, (size_t)n);
	MUST(come(r.data, r.len));
	if (model[id].number != 0) {
		ck_done(STREAM_FORGET, true, id);
		forget(id);
		count_failure();
	} else if (model[id].stream == NULL) {
		ck_done(STREAM_NOTHING, true, id);
	} else if (is_good) {
		ck_done(STREAM_ARRIVED, false, id);
		MUST(record_first(&model[id].stream->in, &data, &len));
		MUST(len == 1 && data[0] == (uint8_t)model[id].id[0]);
		record_drop(&model[id].stream->in);
	} else {
		ck_done(STREAM_ENDED, true, id);
		end_model(id);
	}
}

static void
do_time(void)
{
	size_t	 id, due = 0;

	now += randombytes_uniform(4000);
	for (id = 0; id < IDS; id++)
		due += model[id].number != 0 && model[id].deadline <= now;
	for (; due > 0; due--) {
		memset(&act, 0, sizeof(act));
		MUST(stream_on_time(table, now, &act));
		for (id = 0; id < IDS; id++)
			if (model[id].number == act.number)
				break;
		MUST(id < IDS && model[id].deadline <= now);
		ck_done(STREAM_FORGET, true, id);
		forget(id);
		count_failure();
	}
	MUST(!stream_on_time(table, now, &act));
}

static void
do_one(void)
{
	size_t	 id = randombytes_uniform(IDS);

	switch (randombytes_uniform(12)) {
	case 0: case 1: case 2: case 3:
		do_handshake(id);
		break;
	case 4: case 5: case 6:
		do_verdict();
		break;
	case 7:
		do_reset(id);
		break;
	case 8:
		do_data(id, false);
		break;
	case 9: case 10:
		do_data(id, true);
		break;
	default:
		do_time();
	}
}

START_TEST(test_late)
{
	size_t	 id, k, i, active, waiting;

	for (id = 0; id < IDS; id++) {
		snprintf(model[id].id, sizeof(model[id].id), "%c",
		    (char)('a' + id));
		for (k = 0; k < LETTERS; k++)
			write_letter(&model[id].letters[k], model[id].id);
	}
	for (i = 0; i < STEPS; i++) {
		do_one();
		for (id = active = waiting = 0; id < IDS; id++) {
			active += model[id].stream != NULL;
			waiting += model[id].number != 0;
		}
		MUST(stream_active(table) == active);
		MUST(stream_waiting(table) == waiting);
	}
	ck_assert_uint_gt(late, STEPS / 20);
	for (id = 0; id < IDS; id++)
		if (model[id].stream != NULL)
			record_writer_fini(&model[id].out);
}
END_TEST

/* --- the end of numbers ----------------------------------------------------*/

static void
come_numbered(struct record_writer *w, uint32_t seq, const char *text)
{
	uint8_t			 sealed[RECORD_SEALED_MAX];
	struct record_cutter	 c;
	struct raw		 r;
	uint32_t		 n;
	int			 len;

	w->seq = seq;
	MUST(record_cut(&c, text, strlen(text)) == 0);
	if ((len = record_seal(w, &c, sealed, &n)) == -1) {
		/* It would not do that, but another one might. */
		MUST(seq == RECORD_SEQ_END && errno == EOVERFLOW);
		memset(sealed, 7, len = 30);
		n = seq;
	}
	make(&r, RELAY_DATA, "s", n, sealed, (size_t)len);
	MUST(come(r.data, r.len));
}

static void
ck_taken(const char *text)
{
	uint8_t	*data;
	size_t	 len;

	ck_assert(record_first(&s->in, &data, &len));
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_mem_eq(data, text, len);
	record_drop(&s->in);
}

/* Received: the last one that may be, in any order, and no number again. */
START_TEST(test_last_in)
{
	struct record_writer	 w;
	uint32_t		 end = RECORD_SEQ_END;

	s = insert("s", key);
	ck_assert_int_eq(record_writer_init(&w, key), 0);
	s->in.next = end - 4;
	come_numbered(&w, end - 1, "-1");
	come_numbered(&w, end - 3, "-3");
	come_numbered(&w, end - 2, "-2");
	come_numbered(&w, end - 2, "!!");
	ck_assert_int_eq((int)act.event, (int)STREAM_ARRIVED);
	come_numbered(&w, 0, "0");
	come_numbered(&w, 59, "59");
	come_numbered(&w, end - 5, "-5");
	ck_assert_uint_eq(s->in.next, end - 4);
	come_numbered(&w, end - 4, "-4");
	ck_taken("-4");
	ck_taken("-3");
	ck_taken("-2");
	ck_taken("-1");
	ck_assert_uint_eq(s->in.next, end);
	/* From here on nothing is new but one, and that is the end. */
	come_numbered(&w, 0, "0");
	ck_assert_int_eq((int)act.event, (int)STREAM_ARRIVED);
	come_numbered(&w, 1, "1");
	come_numbered(&w, end - 1, "-1");
	ck_assert_uint_eq(s->in.messages, 0);
	ck_assert_uint_eq(s->in.plain.len, 0);
	come_numbered(&w, end, "end");
	ck_assert_int_eq((int)act.event, (int)STREAM_ENDED);
	ck_assert(act.is_reset && stream_active(table) == 0);
	stream_free(&s);
	record_writer_fini(&w);
}
END_TEST

/* The number that never is, also far ahead of its turn and early. */
START_TEST(test_no_number)
{
	struct record_writer	 w;
	uint32_t		 next[] = { 0, 63, RECORD_SEQ_END - 64,
				    RECORD_SEQ_END - 1, RECORD_SEQ_END };
	size_t			 i;

	ck_assert_int_eq(record_writer_init(&w, key), 0);
	for (i = 0; i < 5; i++) {
		s = insert("s", key);
		s->in.next = next[i];
		come_numbered(&w, RECORD_SEQ_END, "x");
		ck_assert_int_eq((int)act.event, (int)STREAM_ENDED);
		ck_assert(act.is_reset);
		stream_free(&act.stream);
	}
	record_writer_fini(&w);
}
END_TEST

/* Sent: the stream ends in the middle of a message, not with number 0. */
START_TEST(test_last_out)
{
	static uint8_t		 data[3 * LIMIT_RECORD],
				 out[STREAM_FRAME_MAX];
	struct record_cutter	 c;
	struct relay_frame	 f;
	ssize_t			 n;

	s = insert("s", key);
	s->out.seq = RECORD_SEQ_END - 2;
	ck_assert_int_eq(record_cut(&c, data, sizeof(data)), 0);
	for (; (n = stream_seal(s, &c, out)) > 0; relay_free(&f)) {
		ck_assert_int_eq(relay_decode(&f, out, (size_t)n), 0);
		ck_assert_uint_eq(f.seq, s->out.seq - 1);
	}
	ck_assert_int_eq(n, -1);
	ck_assert_int_eq(errno, EOVERFLOW);
	ck_assert_uint_eq(s->out.seq, RECORD_SEQ_END);
	/* And stays at its end. */
	ck_assert_int_eq(stream_seal(s, &c, out), -1);
	ck_assert_int_eq(record_cut(&c, data, 1), 0);
	ck_assert_int_eq(stream_seal(s, &c, out), -1);
	ck_assert_uint_eq(s->out.seq, RECORD_SEQ_END);
	stream_end(table, s, &act);
	ck_assert(act.is_reset && act.event == STREAM_ENDED);
	stream_free(&s);
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("exchange");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 200);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_bits);
	tcase_add_test(tc, test_lengths);
	tcase_add_test(tc, test_places);
	tcase_add_test(tc, test_letter_bits);
	tcase_add_test(tc, test_late);
	tcase_add_test(tc, test_last_in);
	tcase_add_test(tc, test_no_number);
	tcase_add_test(tc, test_last_out);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
