/* common/noise/record.c: cutting, numbering, order and reassembly. */
#include <check.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/record.h"
#include "t/unit/vector_help.h"

/* As ck_assert(), which writes to a file each time, for places run often. */
#define MUST(x)	do { if (!(x)) ck_abort_msg("%s", #x); } while (0)

#define LEN	4		/* bytes of a length */

static const uint8_t		 key[GCM_KEY] = { 7, 1 };
static const struct gcm_ad	 none;

static struct gcm		 gcm;		/* seals what the test wants */
static struct record_reader	 reader;

static void
setup(void)
{
	ck_assert_int_eq(gcm_init(&gcm, key, true), 0);
	ck_assert_int_eq(record_reader_init(&reader, key), 0);
}

static void
teardown(void)
{
	gcm_fini(&gcm);
	record_reader_fini(&reader);
	record_reader_fini(&reader);
}

/* A record of any plaintext. */
static int
put(uint32_t seq, const void *plain, size_t len)
{
	static uint8_t	 sealed[70000];

	MUST(gcm_seal(&gcm, seq, none, plain, len, sealed) == 0);
	return record_put(&reader, seq, sealed, len + GCM_TAG);
}

/* A record of one short message. */
static int
put_text(uint32_t seq, const char *text)
{
	uint8_t	 plain[256] = { 0 };
	size_t	 len = strlen(text);

	plain[3] = (uint8_t)len;
	memcpy(plain + LEN, text, len);
	return put(seq, plain, LEN + len);
}

/* The next message is this. */
static void
ck_next(const char *text)
{
	uint8_t	*data;
	size_t	 len;

	ck_assert(record_first(&reader, &data, &len));
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_mem_eq(data, text, len);
	record_drop(&reader);
}

static void
ck_no_more(void)
{
	uint8_t	*data;
	size_t	 len;

	ck_assert(!record_first(&reader, &data, &len));
}

/* The stream is over, whatever comes. */
static void
ck_broken(int r, int error)
{
	ck_assert_int_eq(r, -1);
	ck_assert_int_eq(errno, error);
	ck_assert_int_eq(put_text(reader.next, "late"), -1);
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_int_eq(put_text(0, "old"), -1);
}

/* --- the vectors -----------------------------------------------------------*/

static void
ck_cutting(const struct vectors *v, uint32_t i)
{
	size_t			 len = vectors_number(v, vectors_find(v, i,
				    "length"));
	uint32_t		 want, list, seq, count = 0;
	uint8_t			 out[RECORD_SEALED_MAX], *data, *got;
	struct record_writer	 w;
	struct record_cutter	 c;
	int			 n;

	data = malloc(len);
	ck_assert(data != NULL);
	randombytes_buf(data, len);
	ck_assert_int_eq(record_writer_init(&w, key), 0);
	ck_assert_int_eq(record_cut(&c, data, len), 0);
	list = vectors_find(v, i, "record_plaintext_lengths");
	for (want = json_first(list); json_more(&v->j, list, want);
	    want = json_after_elem(&v->j, want)) {
		n = record_seal(&w, &c, out, &seq);
		ck_assert_int_eq(n, vectors_number(v, want) + GCM_TAG);
		ck_assert_uint_eq(seq, count++);
		ck_assert_int_eq(record_put(&reader, seq, out, (size_t)n), 0);
		if (seq == 0)
			ck_assert(vectors_is(v, i, "prefix",
			    buf_data(&reader.plain), LEN));
	}
	ck_assert_int_eq(record_seal(&w, &c, out, &seq), 0);
	ck_assert(record_first(&reader, &got, &len));
	ck_assert_uint_eq(len, vectors_number(v, vectors_find(v, i,
	    "length")));
	ck_assert_mem_eq(got, data, len);
	record_drop(&reader);
	ck_no_more();
	record_writer_fini(&w);
	free(data);
}

START_TEST(test_framing)
{
	struct vectors	 v;
	uint32_t	 i, list;
	int		 n = 0;

	vectors_open(&v, "message-framing");
	list = vectors_find(&v, 0, "cases");
	for (i = json_first(list); json_more(&v.j, list, i);
	    i = json_after_elem(&v.j, i), n++) {
		record_reader_fini(&reader);
		ck_assert_int_eq(record_reader_init(&reader, key), 0);
		ck_cutting(&v, i);
	}
	ck_assert_int_eq(n, 8);
	vectors_close(&v);
}
END_TEST

/* The records of a direction, byte for byte, both ways. */
static int
ck_records(const struct vectors *v, const char *key_name, const char *records)
{
	struct record_writer	 w;
	struct record_cutter	 c;
	uint8_t			 k[GCM_KEY], out[RECORD_SEALED_MAX], *data;
	uint32_t		 i, list, json, seq;
	size_t			 len;
	int			 n, count = 0;

	vectors_get(v, key_name, k, sizeof(k));
	record_reader_fini(&reader);
	ck_assert_int_eq(record_reader_init(&reader, k), 0);
	ck_assert_int_eq(record_writer_init(&w, k), 0);
	list = vectors_find(v, 0, records);
	for (i = json_first(list); json_more(&v->j, list, i);
	    i = json_after_elem(&v->j, i), count++) {
		json = vectors_find(v, i, "json");
		ck_assert_int_eq(record_cut(&c, json_text(&v->j, json),
		    json_tok(&v->j, json)->len), 0);
		n = record_seal(&w, &c, out, &seq);
		ck_assert_uint_eq(seq, vectors_number(v, vectors_find(v, i,
		    "nonce_counter")));
		ck_assert(vectors_is(v, i, "ciphertext", out, (size_t)n));
		ck_assert_int_eq(record_put(&reader, seq, out, (size_t)n), 0);
		ck_assert(record_first(&reader, &data, &len));
		ck_assert_uint_eq(len, json_tok(&v->j, json)->len);
		ck_assert_mem_eq(data, json_text(&v->j, json), len);
		record_drop(&reader);
	}
	record_writer_fini(&w);
	return count;
}

START_TEST(test_records)
{
	struct vectors	 v;

	vectors_open(&v, "noise-hybrid-ik");
	ck_assert_int_eq(ck_records(&v, "harness_to_executor_key",
	    "harness_to_executor_records"), 2);
	ck_assert_int_eq(ck_records(&v, "executor_to_harness_key",
	    "executor_to_harness_records"), 1);
	vectors_close(&v);
}
END_TEST

/* --- sending ---------------------------------------------------------------*/

START_TEST(test_cut_limits)
{
	struct record_cutter	 c;

	ck_assert_int_eq(record_cut(&c, "", 0), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(record_cut(&c, "", LIMIT_MESSAGE + (size_t)1), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(record_cut(&c, "", LIMIT_MESSAGE), 0);
}
END_TEST

/* The last number is never used, in the middle of a message neither. */
START_TEST(test_numbers_used_up)
{
	static uint8_t		 data[2 * LIMIT_RECORD], out[RECORD_SEALED_MAX];
	struct record_writer	 w;
	struct record_cutter	 c;
	uint32_t		 seq;

	ck_assert_int_eq(record_writer_init(&w, key), 0);
	w.seq = UINT32_MAX - 1;
	ck_assert_int_eq(record_cut(&c, data, sizeof(data)), 0);
	ck_assert_int_eq(record_seal(&w, &c, out, &seq), RECORD_SEALED_MAX);
	ck_assert_uint_eq(seq, UINT32_MAX - 1);
	ck_assert_int_eq(record_seal(&w, &c, out, &seq), -1);
	ck_assert_int_eq(errno, EOVERFLOW);
	ck_assert_int_eq(record_seal(&w, &c, out, &seq), -1);
	record_writer_fini(&w);

	reader.next = UINT32_MAX - 1;
	ck_assert_int_eq(put_text(UINT32_MAX - 1, "last"), 0);
	ck_next("last");
	ck_assert_int_eq(put_text(0, "old"), 0);
	ck_broken(put_text(UINT32_MAX, "beyond"), EPROTO);
}
END_TEST

/* --- order -----------------------------------------------------------------*/

START_TEST(test_order)
{
	ck_assert_int_eq(put_text(2, "two"), 0);
	ck_assert_int_eq(put_text(1, "one"), 0);
	ck_no_more();
	/* One that waits already: dropped, whatever it is. */
	ck_assert_int_eq(record_put(&reader, 2, (const uint8_t *)"", 0), 0);
	ck_assert_int_eq(put_text(0, "zero"), 0);
	ck_next("zero");
	ck_next("one");
	ck_next("two");
	ck_no_more();
	/* One that was. */
	ck_assert_int_eq(put_text(0, "zero"), 0);
	ck_assert_int_eq(put_text(2, "other"), 0);
	ck_assert_int_eq(record_put(&reader, 1, (const uint8_t *)"", 0), 0);
	ck_no_more();
	ck_assert_int_eq(put_text(4, "four"), 0);
	ck_assert_int_eq(put_text(3, "three"), 0);
	ck_next("three");
	ck_next("four");
	ck_assert_uint_eq(reader.waiting_len, 0);
}
END_TEST

/* In any order, each record twice, as far apart as may be. */
START_TEST(test_shuffled)
{
	uint32_t	 at[LIMIT_RECORD_GAP + 1], base, i, k, t;
	char		 text[16];

	for (base = 0; base < 20 * (LIMIT_RECORD_GAP + 1);
	    base += LIMIT_RECORD_GAP + 1) {
		for (i = 0; i <= LIMIT_RECORD_GAP; i++)
			at[i] = base + i;
		for (i = LIMIT_RECORD_GAP; i > 0; i--) {
			k = randombytes_uniform(i + 1);
			t = at[i];
			at[i] = at[k];
			at[k] = t;
		}
		for (i = 0; i <= LIMIT_RECORD_GAP; i++) {
			snprintf(text, sizeof(text), "m%u", at[i]);
			MUST(put_text(at[i], text) == 0);
			MUST(put_text(at[i], text) == 0);
		}
		for (i = 0; i <= LIMIT_RECORD_GAP; i++) {
			snprintf(text, sizeof(text), "m%u", base + i);
			ck_next(text);
		}
		ck_no_more();
	}
}
END_TEST

START_TEST(test_gap)
{
	uint32_t	 i;

	for (i = 1; i <= LIMIT_RECORD_GAP; i++)
		ck_assert_int_eq(put_text(i, "x"), 0);
	ck_broken(put_text(LIMIT_RECORD_GAP + 1, "x"), EPROTO);
}
END_TEST

START_TEST(test_far)
{
	ck_broken(put_text(UINT32_MAX - 1, "x"), EPROTO);
}
END_TEST

/* What waits is at most 1 MiB, and what has left does not count. */
START_TEST(test_waiting_bytes)
{
	static uint8_t	 plain[LIMIT_RECORD];
	uint32_t	 i, fit = LIMIT_RECORD_WAITING / RECORD_SEALED_MAX;
	uint8_t		*data;
	size_t		 len;

	ck_assert_uint_eq(fit, 17);
	plain[1] = LIMIT_RECORD >> 16 & 255;	/* each is one message */
	plain[2] = (LIMIT_RECORD - LEN) >> 8 & 255;
	plain[3] = (LIMIT_RECORD - LEN) & 255;
	for (i = 1; i <= fit; i++)
		ck_assert_int_eq(put(i, plain, sizeof(plain)), 0);
	ck_assert_int_eq(put(0, plain, sizeof(plain)), 0);
	for (i = 0; i <= fit; i++) {
		ck_assert(record_first(&reader, &data, &len));
		ck_assert_uint_eq(len, sizeof(plain) - LEN);
		record_drop(&reader);
	}
	ck_no_more();
	for (i = 0; i < fit; i++)
		ck_assert_int_eq(put(fit + 2 + i, plain, sizeof(plain)), 0);
	ck_broken(put(fit + 2 + i, plain, sizeof(plain)), EPROTO);
}
END_TEST

/* --- what is in them -------------------------------------------------------*/

START_TEST(test_pieces)
{
	/* Nothing; three bytes of a length; its rest with a message and two
	   more; half of the next. */
	ck_assert_int_eq(put(0, "", 0), 0);
	ck_assert_int_eq(put(1, "\0\0\0", 3), 0);
	ck_no_more();
	ck_assert_int_eq(put(2, "\2{}\0\0\0\3abc\0\0\0\1x\0\0\0\4de", 21), 0);
	ck_next("{}");
	ck_assert_int_eq(put(3, "", 0), 0);
	ck_next("abc");
	ck_next("x");
	ck_no_more();
	ck_assert_int_eq(put(4, "fg", 2), 0);
	ck_next("defg");
	ck_no_more();
	ck_assert_uint_eq(reader.plain.len, 0);
}
END_TEST

START_TEST(test_bad_lengths)
{
	static const struct {
		const char	*plain;
		size_t		 len;
		int		 r;
	} rows[] = {
		{ "\0\0\0\0", 4, -1 },
		{ "\0\0\0\1x\0\0\0\0", 9, -1 },
		{ "\4\0\0\0", 4, 0 },		/* 64 MiB */
		{ "\4\0\0\1", 4, -1 },
		{ "\377\377\377\377", 4, -1 },
		{ "\0\0\0", 3, 0 },
	};
	size_t	 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		record_reader_fini(&reader);
		ck_assert_int_eq(record_reader_init(&reader, key), 0);
		if (rows[i].r == 0)
			ck_assert_int_eq(put(0, rows[i].plain, rows[i].len),
			    0);
		else
			ck_broken(put(0, rows[i].plain, rows[i].len), EPROTO);
	}
}
END_TEST

START_TEST(test_sealed_lengths)
{
	static uint8_t	 plain[LIMIT_RECORD + 1];
	size_t		 i, sizes[] = { 0, 1, GCM_TAG - 1 };

	for (i = 0; i < 3; i++) {
		ck_broken(record_put(&reader, 0, plain, sizes[i]), EPROTO);
		record_reader_fini(&reader);
		ck_assert_int_eq(record_reader_init(&reader, key), 0);
		/* No better for coming early. */
		ck_broken(record_put(&reader, 1, plain, sizes[i]), EPROTO);
		record_reader_fini(&reader);
		ck_assert_int_eq(record_reader_init(&reader, key), 0);
	}
	plain[3] = 1;
	ck_broken(put(0, plain, LIMIT_RECORD + 1), EPROTO);
}
END_TEST

/* Another key, another place, a bit; only frames in order are opened. */
START_TEST(test_forged)
{
	uint8_t	 sealed[64];

	ck_assert_int_eq(gcm_seal(&gcm, 1, none, (const uint8_t *)"\0\0\0\1x",
	    5, sealed), 0);
	ck_broken(record_put(&reader, 0, sealed, 5 + GCM_TAG), EBADMSG);

	record_reader_fini(&reader);
	ck_assert_int_eq(record_reader_init(&reader, key), 0);
	sealed[2] ^= 1;
	ck_assert_int_eq(record_put(&reader, 1, sealed, 5 + GCM_TAG), 0);
	ck_broken(put_text(0, "zero"), EBADMSG);
	/* What was whole before stays. */
	ck_next("zero");
	ck_no_more();
}
END_TEST

/* Of one record any number, but no more while those are not taken. */
START_TEST(test_messages_flood)
{
	static uint8_t	 plain[5 * (LIMIT_STREAM_MESSAGES + 1)];
	uint32_t	 i;

	for (i = 0; i <= LIMIT_STREAM_MESSAGES; i++)
		memcpy(plain + 5 * i, "\0\0\0\1y", 5);
	ck_assert_int_eq(put(0, plain, sizeof(plain)), 0);
	for (i = 0; i <= LIMIT_STREAM_MESSAGES; i++)
		ck_next("y");
	ck_no_more();
	for (i = 0; i < LIMIT_STREAM_MESSAGES; i++)
		ck_assert_int_eq(put_text(i + 1, "z"), 0);
	ck_assert_int_eq(put(i + 1, "\0\0\0\1", 4), 0);
	ck_broken(put(i + 2, "u", 1), EFBIG);
	ck_next("z");
}
END_TEST

/* As much may wait as two messages, not three; here they are shorter. */
START_TEST(test_held)
{
	const size_t		 size = LIMIT_MESSAGE / 64;
	const size_t		 max = LIMIT_STREAM_HELD / 64;
	static uint8_t		 sealed[RECORD_SEALED_MAX];
	uint8_t			*data = calloc(1, size), *got;
	struct record_writer	 w;
	struct record_cutter	 c;
	uint32_t		 seq;
	size_t			 len;
	int			 i, n = 0, r = 0;

	ck_assert(data != NULL);
	ck_assert_int_gt(LIMIT_STREAM_HELD, 2 * LIMIT_MESSAGE);
	ck_assert_uint_eq(reader.plain.max, LIMIT_STREAM_HELD);
	reader.plain.max = max;
	ck_assert_int_eq(record_writer_init(&w, key), 0);
	for (i = 0; i < 3 && r == 0; i++) {
		ck_assert_int_eq(record_cut(&c, data, size), 0);
		while (r == 0 && (n = record_seal(&w, &c, sealed, &seq)) > 0)
			r = record_put(&reader, seq, sealed, (size_t)n);
		if (i < 2)
			ck_assert_int_eq(r, 0);
	}
	ck_assert_int_eq(r, -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_uint_le(reader.plain.len, max);
	ck_assert_uint_gt(reader.plain.len, max - 70000);
	for (i = 0; i < 2; i++) {
		ck_assert(record_first(&reader, &got, &len));
		ck_assert_uint_eq(len, size);
		ck_assert_int_eq(memcmp(got, data, len), 0);
		record_drop(&reader);
	}
	ck_no_more();
	record_writer_fini(&w);
	free(data);
}
END_TEST

/* --- beside others ---------------------------------------------------------*/

/* Pieces of one message until more than n bytes are held, or -1. */
static int
pour(struct record_reader *r, size_t n)
{
	static uint8_t	 plain[LIMIT_RECORD], sealed[RECORD_SEALED_MAX];

	while (r->plain.len < n) {
		memset(plain, 0, sizeof(plain));
		if (r->plain.len == 0)
			plain[0] = LIMIT_MESSAGE >> 24;
		MUST(gcm_seal(&gcm, r->next, none, plain, sizeof(plain),
		    sealed) == 0);
		if (record_put(r, r->next, sealed, sizeof(sealed)) == -1)
			return -1;
	}
	return 0;
}

/* The one that holds too much loses, and what it held is free again. */
START_TEST(test_shared)
{
	struct record_reader	 other;
	struct quota		 q;
	size_t			 left;

	quota_init(&q);
	q.left = 2 << 20;
	left = q.left;
	ck_assert_int_eq(record_reader_init(&other, key), 0);
	record_reader_share(&other, &q);
	record_reader_share(&reader, &q);
	ck_assert_int_eq(pour(&other, 2 << 20), 0);
	ck_assert_uint_le(q.left, LIMIT_STREAM_RESERVE + LIMIT_RECORD);
	ck_assert_int_eq(pour(&reader, 3 << 20), -1);
	ck_assert_int_eq(errno, EDQUOT);
	ck_assert_uint_gt(reader.plain.len, LIMIT_STREAM_RESERVE);
	ck_assert_int_eq(put_text(reader.next, "late"), -1);
	ck_assert_int_eq(errno, EPROTO);
	record_reader_fini(&reader);
	ck_assert_int_eq(pour(&other, 2 << 20 | LIMIT_STREAM_RESERVE / 2), 0);
	record_reader_fini(&other);
	ck_assert_uint_eq(q.left, left);
}
END_TEST

/* Records that wait behind a gap count as well. */
START_TEST(test_shared_gap)
{
	static uint8_t	 plain[LIMIT_RECORD];
	struct quota	 q;
	uint32_t	 i;
	int		 r = 0;

	quota_init(&q);
	q.left = 2 * LIMIT_RECORD;
	record_reader_share(&reader, &q);
	for (i = 1; r == 0 && i < 17; i++)
		r = put(i, plain, sizeof(plain));
	ck_assert_int_eq(r, -1);
	ck_assert_int_eq(errno, EDQUOT);
	ck_assert_uint_gt(reader.waiting_len, LIMIT_STREAM_RESERVE);
	record_reader_fini(&reader);
	ck_assert_uint_eq(q.left, 2 * LIMIT_RECORD);
}
END_TEST

/* Of a long message that was taken nothing is kept, though the next one has
   begun. */
START_TEST(test_memory_given_back)
{
	static uint8_t		 sealed[RECORD_SEALED_MAX];
	const size_t		 size = 3 << 20;
	uint8_t			*data = calloc(1, size), *got;
	struct record_writer	 w;
	struct record_cutter	 c;
	struct quota		 q;
	uint32_t		 seq;
	size_t			 len, left;
	int			 n;

	ck_assert(data != NULL);
	quota_init(&q);
	left = q.left;
	record_reader_share(&reader, &q);
	ck_assert_int_eq(record_writer_init(&w, key), 0);
	ck_assert_int_eq(record_cut(&c, data, size), 0);
	while ((n = record_seal(&w, &c, sealed, &seq)) > 0)
		ck_assert_int_eq(record_put(&reader, seq, sealed, (size_t)n),
		    0);
	ck_assert_int_eq(put(w.seq, "\0\0\0\4a", 5), 0);
	ck_assert_uint_le(q.left, left - (size - LIMIT_STREAM_RESERVE));
	ck_assert(record_first(&reader, &got, &len));
	ck_assert_uint_eq(len, size);
	record_drop(&reader);
	ck_assert_uint_le(reader.plain.cap, 65536);
	ck_assert_uint_eq(q.left, left);
	ck_assert_int_eq(put(w.seq + 1, "bcd", 3), 0);
	ck_next("abcd");
	record_writer_fini(&w);
	free(data);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("record");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_framing);
	tcase_add_test(tc, test_records);
	tcase_add_test(tc, test_cut_limits);
	tcase_add_test(tc, test_numbers_used_up);
	tcase_add_test(tc, test_order);
	tcase_add_test(tc, test_shuffled);
	tcase_add_test(tc, test_gap);
	tcase_add_test(tc, test_far);
	tcase_add_test(tc, test_waiting_bytes);
	tcase_add_test(tc, test_pieces);
	tcase_add_test(tc, test_bad_lengths);
	tcase_add_test(tc, test_sealed_lengths);
	tcase_add_test(tc, test_forged);
	tcase_add_test(tc, test_messages_flood);
	tcase_add_test(tc, test_held);
	tcase_add_test(tc, test_shared);
	tcase_add_test(tc, test_shared_gap);
	tcase_add_test(tc, test_memory_given_back);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
