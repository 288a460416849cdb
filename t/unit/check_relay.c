/* common/noise/relay.c: the vectors, and frames that are dropped. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/relay.h"
#include "t/unit/vector_help.h"

/* As ck_assert(), which writes to a file each time, for places run often. */
#define MUST(x)	do { if (!(x)) ck_abort_msg("%s", #x); } while (0)

#define BIG	(LIMIT_RELAY_MESSAGE + 64)

static struct vectors	 v;
static uint8_t		 big[BIG];

static void
setup(void)
{
	vectors_open(&v, "relay-frames");
}

static void
teardown(void)
{
	vectors_close(&v);
}

/* --- the vectors -----------------------------------------------------------*/

static const struct {
	const char	*key;
	enum relay_kind	 kind;
	const char	*seq;		/* of its member, or NULL */
	const char	*payload;
	bool		 is_hex;
} bodies[] = {
	{ "data",	RELAY_DATA,	"seq",		"payload", true },
	{ "ackFrame",	RELAY_ACK,	NULL,		NULL, false },
	{ "resume",	RELAY_RESUME,	"nextSeq",	NULL, false },
	{ "reset",	RELAY_RESET,	NULL,		"reason", false },
	{ "heartbeat",	RELAY_HEARTBEAT, NULL,		NULL, false },
	{ "handshake",	RELAY_HANDSHAKE, NULL,		"payload", true },
};

static void
ck_payload(const struct relay_frame *f, uint32_t body, size_t row)
{
	uint32_t	 i;

	if (bodies[row].payload == NULL) {
		ck_assert_uint_eq(f->len, 0);
		return;
	}
	if (bodies[row].is_hex) {
		ck_assert(vectors_is(&v, body, bodies[row].payload,
		    f->payload, f->len));
		return;
	}
	i = vectors_find(&v, body, bodies[row].payload);
	ck_assert_uint_eq(f->len, json_tok(&v.j, i)->len);
	ck_assert_mem_eq(f->payload, json_text(&v.j, i), f->len);
}

/* Returns the row of its kind. */
static size_t
ck_frame(const struct relay_frame *f, uint32_t want)
{
	uint32_t	 body, id = vectors_find(&v, want, "streamId");
	size_t		 i, n = sizeof(bodies) / sizeof(bodies[0]);

	ck_assert_uint_eq(f->id.len, json_tok(&v.j, id)->len);
	ck_assert_mem_eq(f->id.at, json_text(&v.j, id), f->id.len);
	for (i = 0; i < n; i++)
		if ((body = json_find(&v.j, want, bodies[i].key)) != 0)
			break;
	ck_assert_uint_lt(i, n);
	ck_assert_int_eq((int)f->kind, (int)bodies[i].kind);
	if (bodies[i].seq != NULL)
		ck_assert_uint_eq(f->seq, vectors_number(&v,
		    vectors_find(&v, body, bodies[i].seq)));
	ck_payload(f, body, i);
	return i;
}

/* Whether a vector has what we read but never write. */
static bool
is_read_only(uint32_t i)
{
	uint32_t	 at = vectors_find(&v, i, "name");
	const char	*name = json_text(&v.j, at);
	size_t		 len = json_tok(&v.j, at)->len;

	return memmem(name, len, "field", 5) != NULL ||
	    memmem(name, len, "two", 3) != NULL || json_find(&v.j,
	    vectors_find(&v, i, "frame"), "ack") != 0;
}

static void
ck_valid(uint32_t i)
{
	struct vector		*hex;
	struct relay_frame	 f;
	uint8_t			 out[512];
	ssize_t			 n;

	hex = vectors_hex(&v, vectors_find(&v, i, "hex"));
	ck_assert_int_eq(relay_decode(&f, hex->data, hex->len), 0);
	ck_frame(&f, vectors_find(&v, i, "frame"));
	n = relay_encode(&f, out, sizeof(out));
	ck_assert_int_gt(n, 0);
	ck_assert_int_le(n, (ssize_t)(f.len + RELAY_ROOM));
	if (!is_read_only(i)) {
		ck_assert_int_eq(n, (ssize_t)hex->len);
		ck_assert_mem_eq(out, hex->data, hex->len);
		ck_assert_int_eq(relay_encode(&f, out, hex->len - 1), -1);
		ck_assert_int_eq(errno, EMSGSIZE);
		ck_assert_int_eq(relay_encode(&f, out, hex->len), n);
	}
	relay_free(&f);
	relay_free(&f);
	free(hex);
}

START_TEST(test_valid)
{
	uint32_t	 i, list = vectors_find(&v, 0, "valid");
	int		 n = 0, written = 0;

	for (i = json_first(list); json_more(&v.j, list, i);
	    i = json_after_elem(&v.j, i), n++) {
		written += !is_read_only(i);
		ck_valid(i);
	}
	ck_assert_int_eq(n, 13);
	ck_assert_int_eq(written, 8);
}
END_TEST

static void
dropped(const void *data, size_t len, int error)
{
	struct relay_frame	 f;

	MUST(relay_decode(&f, data, len) == -1 && errno == error);
	MUST(f.memory == NULL && f.len == 0 && f.id.at == NULL);
}

START_TEST(test_dropped)
{
	uint32_t	 i, list = vectors_find(&v, 0, "dropped");
	struct vector	*hex;
	int		 n = 0;

	for (i = json_first(list); json_more(&v.j, list, i);
	    i = json_after_elem(&v.j, i), n++) {
		hex = vectors_hex(&v, vectors_find(&v, i, "hex"));
		dropped(hex->data, hex->len, EPROTO);
		free(hex);
	}
	ck_assert_int_eq(n, 13);
}
END_TEST

/* Cut off anywhere but behind a whole field, and with any byte changed. */
START_TEST(test_damaged)
{
	uint32_t		 i, list = vectors_find(&v, 0, "valid");
	struct relay_frame	 f;
	struct vector		*hex;
	size_t			 n;
	int			 bit;

	for (i = json_first(list); json_more(&v.j, list, i);
	    i = json_after_elem(&v.j, i)) {
		hex = vectors_hex(&v, vectors_find(&v, i, "hex"));
		for (n = 0; n < hex->len; n++) {
			if (n < 9)
				dropped(hex->data, n < 8 ? n : 7, EPROTO);
			if (relay_decode(&f, hex->data, n) == 0)
				relay_free(&f);
			for (bit = 0; bit < 8; bit++) {
				hex->data[n] ^= (uint8_t)(1 << bit);
				if (relay_decode(&f, hex->data, hex->len) ==
				    0) {
					MUST(f.id.len > 0);
					relay_free(&f);
				}
				hex->data[n] ^= (uint8_t)(1 << bit);
			}
		}
		free(hex);
	}
}
END_TEST

/* --- ids -------------------------------------------------------------------*/

static int
decode_id(const char *id, size_t len, struct relay_frame *f)
{
	static const uint8_t	 heartbeat[] = { 0x4a, 0 };
	size_t			 n = 0;

	big[n++] = 0x08;
	big[n++] = 1;
	big[n++] = 0x12;
	if (len > 127)
		big[n++] = (uint8_t)(len & 0x7f) | 0x80;
	big[n++] = len > 127 ? (uint8_t)(len >> 7) : (uint8_t)len;
	memcpy(big + n, id, len);
	n += len;
	memcpy(big + n, heartbeat, sizeof(heartbeat));
	return relay_decode(f, big, n + sizeof(heartbeat));
}

static void
ck_id(const char *id, size_t len, bool is_good)
{
	struct relay_frame	 f;

	if (!is_good) {
		ck_assert_int_eq(decode_id(id, len, &f), -1);
		ck_assert_int_eq(errno, EPROTO);
		return;
	}
	ck_assert_int_eq(decode_id(id, len, &f), 0);
	ck_assert_uint_eq(f.id.len, len);
	ck_assert_mem_eq(f.id.at, id, len);
	relay_free(&f);
}

START_TEST(test_ids)
{
	char	 id[LIMIT_RELAY_STREAM_ID + 1];

	memset(id, 'x', sizeof(id));
	ck_id(id, 1, true);
	ck_id(id, 127, true);
	ck_id(id, LIMIT_RELAY_STREAM_ID, true);
	ck_id(id, LIMIT_RELAY_STREAM_ID + 1, false);
	ck_id("0f8b6f0e-53d9-4c43-8b36-0d8a9a4f2b11", 36, true);
	ck_id("\xc3\xa9\xe2\x82\xac", 5, true);
	ck_id(" a ", 3, true);
	ck_id("\xe3\x80\x80" "a", 4, true);
	/* Blank, also in Unicode. */
	ck_id("", 0, false);
	ck_id(" ", 1, false);
	ck_id("\xc2\xa0 \xe2\x80\x83\xe3\x80\x80\xc2\x85", 11, false);
	/* Not UTF-8. */
	ck_id("a\xff", 2, false);
	ck_id("\xc3", 1, false);
	ck_id("\xed\xa0\x80", 3, false);
	/* What an HTTP header must not have, NUL above all. */
	ck_id("a\0b", 3, false);
	ck_id("a\r\nx: y", 7, false);
	ck_id("a\tb", 3, false);
	ck_id("a\x7f", 2, false);
}
END_TEST

/* --- the rest --------------------------------------------------------------*/

START_TEST(test_text)
{
	/* A reason, and trace fields, that are not UTF-8. */
	dropped("\x08\x01\x12\x01s\x42\x03\x0a\x01\xff", 10, EPROTO);
	dropped("\x08\x01\x12\x01s\x4a\x00\x5a\x01\xff", 10, EPROTO);
	dropped("\x08\x01\x12\x01s\x4a\x00\x62\x01\xff", 10, EPROTO);
	/* Known fields of another type; a length beyond the end. */
	dropped("\x08\x01\x10\x01\x4a\x00", 6, EPROTO);
	dropped("\x0a\x01\x01\x12\x01s\x4a\x00", 8, EPROTO);
	dropped("\x08\x01\x12\x01s\x4a\x80\x80\x80\x80\x80\x01", 12, EPROTO);
	dropped("\x08\x01\x12\xff\xff\xff\xff\x0fs\x4a\x00", 11, EPROTO);
}
END_TEST

/* A payload of any size comes back, up to the limit of a message. */
START_TEST(test_sizes)
{
	static const size_t	 sizes[] = {
		1, 127, 128, 16384, 61456, LIMIT_RELAY_MESSAGE - 64
	};
	static uint8_t		 data[LIMIT_RELAY_MESSAGE];
	struct relay_frame	 f, got;
	size_t			 i, k;
	ssize_t			 n;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		memset(&f, 0, sizeof(f));
		f.kind = k % 2 == 0 ? RELAY_DATA : RELAY_HANDSHAKE;
		f.id.at = "stream";
		f.id.len = 6;
		f.seq = k % 2 == 0 ? UINT32_MAX - (uint32_t)k : 0;
		f.payload = data;
		f.len = sizes[k];
		n = relay_encode(&f, big, sizeof(big));
		ck_assert_int_gt(n, (ssize_t)f.len);
		ck_assert_int_eq(relay_decode(&got, big, (size_t)n), 0);
		ck_assert_int_eq((int)got.kind, (int)f.kind);
		ck_assert_uint_eq(got.seq, f.seq);
		ck_assert_uint_eq(got.len, f.len);
		ck_assert_mem_eq(got.payload, data, f.len);
		relay_free(&got);
	}
	memset(big, 0, sizeof(big));
	dropped(big, LIMIT_RELAY_MESSAGE + 1, EMSGSIZE);
	dropped(big, LIMIT_RELAY_MESSAGE, EPROTO);
}
END_TEST

/* RELAY_ROOM is enough for the longest id and number. */
START_TEST(test_room)
{
	struct relay_frame	 f;
	char			 id[LIMIT_RELAY_STREAM_ID];
	static uint8_t		 data[200000];

	memset(id, 'i', sizeof(id));
	memset(&f, 0, sizeof(f));
	f.kind = RELAY_DATA;
	f.id.at = id;
	f.id.len = sizeof(id);
	f.seq = UINT32_MAX;
	f.payload = data;
	f.len = sizeof(data);
	ck_assert_int_gt(relay_encode(&f, big, f.len + RELAY_ROOM), 0);
}
END_TEST

/* A frame of nothing but small fields that nobody knows. */
START_TEST(test_unknown_flood)
{
	static const uint8_t	 head[] = { 0x08, 1, 0x12, 1, 's', 0x4a, 0 };
	struct relay_frame	 f;
	size_t			 n;

	memcpy(big, head, sizeof(head));
	for (n = sizeof(head); n + 2 <= LIMIT_RELAY_MESSAGE; n += 2) {
		big[n] = 0x78;		/* field 15, a number */
		big[n + 1] = 1;
	}
	ck_assert_int_eq(relay_decode(&f, big, n), 0);
	ck_assert_int_eq((int)f.kind, (int)RELAY_HEARTBEAT);
	relay_free(&f);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("relay");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_valid);
	tcase_add_test(tc, test_dropped);
	tcase_add_test(tc, test_damaged);
	tcase_add_test(tc, test_ids);
	tcase_add_test(tc, test_text);
	tcase_add_test(tc, test_sizes);
	tcase_add_test(tc, test_room);
	tcase_add_test(tc, test_unknown_flood);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
