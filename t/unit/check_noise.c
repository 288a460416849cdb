/* common/noise/noise.c and gcm.c: the vectors, and all that must fail. */
#include <check.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/noise.h"
#include "t/unit/vector_help.h"

#define BIG	(NOISE_MESSAGE_MAX + 1)

/* As ck_assert(), which writes to a file each time, for places run often. */
#define MUST(x)	do { if (!(x)) ck_abort_msg("%s", #x); } while (0)

static struct vectors		 v;
static struct noise_identity	 executor, harness;
static struct noise_random	 harness_random, executor_random;
static const struct noise_name	 name = {
	{ "env-vector", 10 }, { "reg-0001", 8 },
	{ "0f8b6f0e-53d9-4c43-8b36-0d8a9a4f2b11", 36 }
};
static const char		 payload[] =
    "vector-harness-key-authorization";
#define PAYLOAD			 (sizeof(payload) - 1)

static uint8_t			 m1[BIG], m2[BIG], text[BIG];

static void
identity_of(struct noise_identity *id, const char *x, const char *seed)
{
	uint8_t	 dh[NOISE_DH], kem[MLKEM_SEED_LEN];

	vectors_get(&v, x, dh, sizeof(dh));
	vectors_get(&v, seed, kem, sizeof(kem));
	ck_assert_int_eq(noise_identity_make(id, dh, kem), 0);
}

static void
setup(void)
{
	ck_assert_int_ge(sodium_init(), 0);
	vectors_open(&v, "noise-hybrid-ik");
	identity_of(&executor, "executor_static.x25519_secret",
	    "executor_static.mlkem768_seed_d_z");
	identity_of(&harness, "harness_static.x25519_secret",
	    "harness_static.mlkem768_seed_d_z");
	vectors_get(&v, "harness_ephemeral.x25519_secret",
	    harness_random.dh, 32);
	vectors_get(&v, "harness_ephemeral.mlkem768_seed_d_z",
	    harness_random.kem, 64);
	vectors_get(&v, "encapsulation_messages.message1_skem",
	    harness_random.m[0], 32);
	vectors_get(&v, "executor_ephemeral.x25519_secret",
	    executor_random.dh, 32);
	vectors_get(&v, "executor_ephemeral.mlkem768_seed_d_z",
	    executor_random.kem, 64);
	vectors_get(&v, "encapsulation_messages.message2_ekem",
	    executor_random.m[0], 32);
	vectors_get(&v, "encapsulation_messages.message2_skem",
	    executor_random.m[1], 32);
}

static void
teardown(void)
{
	vectors_close(&v);
}

/* --- as the vector says ----------------------------------------------------*/

/* The state that the vector has after that step. */
static void
ck_state(const struct noise_symmetric *s, const char *after)
{
	uint32_t	 i, list = vectors_find(&v, 0, "symmetric_state");

	for (i = json_first(list); json_more(&v.j, list, i);
	    i = json_after_elem(&v.j, i)) {
		if (!json_is_text(&v.j, vectors_find(&v, i, "after"), after))
			continue;
		ck_assert(vectors_is(&v, i, "h", s->h, sizeof(s->h)));
		ck_assert(vectors_is(&v, i, "ck", s->ck, sizeof(s->ck)));
		ck_assert(vectors_is(&v, i, "k", s->k, sizeof(s->k)));
		return;
	}
	ck_abort_msg("no state %s", after);
}

static int
request(struct noise_initiator *i)
{
	return noise_request(i, &harness, &executor.pub, &name,
	    &harness_random, payload, PAYLOAD, m1);
}

static int
take_request(struct noise_responder *r, size_t len)
{
	return noise_take_request(r, &executor, &name, m1, len, text,
	    sizeof(text));
}

START_TEST(test_keys)
{
	ck_assert(vectors_is(&v, 0, "executor_static.x25519_public",
	    executor.pub.dh, NOISE_DH));
	ck_assert(vectors_is(&v, 0, "executor_static.mlkem768_public",
	    executor.pub.kem, MLKEM_PUBLIC_LEN));
	ck_assert(vectors_is(&v, 0, "harness_static.x25519_public",
	    harness.pub.dh, NOISE_DH));
	ck_assert(vectors_is(&v, 0, "harness_static.mlkem768_public",
	    harness.pub.kem, MLKEM_PUBLIC_LEN));
}
END_TEST

/* A key as text, and the vector's: member by member. */
START_TEST(test_key_text)
{
	static const char *const	 keys[] = {
		"suite", "x25519_public_key", "mlkem768_public_key"
	};
	struct buf	 b;
	struct json_out	 o;
	struct json	 j;
	uint32_t	 i, mine, theirs;

	buf_init(&b, 65536);
	json_out_init(&o, &b);
	noise_public_write(&o, &executor.pub);
	ck_assert_int_eq(json_out_fini(&o), 0);
	json_init(&j);
	ck_assert_int_eq(json_parse(&j, (char *)buf_data(&b), b.len), 0);
	ck_assert_uint_eq(j.ntoks, 7);
	for (i = 0; i < 3; i++) {
		theirs = vectors_find(&v, vectors_find(&v, 0,
		    "executor_public_key_json"), keys[i]);
		mine = json_find(&j, 0, keys[i]);
		ck_assert_uint_ne(mine, 0);
		ck_assert_uint_eq(json_tok(&j, mine)->len,
		    json_tok(&v.j, theirs)->len);
		ck_assert_mem_eq(json_text(&j, mine),
		    json_text(&v.j, theirs), json_tok(&j, mine)->len);
	}
	json_fini(&j);
	buf_fini(&b);
}
END_TEST

START_TEST(test_messages)
{
	struct noise_initiator	 i;
	struct noise_responder	 r;
	struct noise_keys	 ours, theirs;

	ck_assert_int_eq(request(&i), 3600);
	ck_assert(vectors_is(&v, 0, "message1.bytes", m1, 3600));
	ck_state(&i.sym, "1:payload");

	ck_assert_int_eq(take_request(&r, 3600), PAYLOAD);
	ck_assert_mem_eq(text, payload, PAYLOAD);
	ck_assert_mem_eq(&r.s, &harness.pub, sizeof(r.s));
	ck_state(&r.sym, "1:payload");

	ck_assert_int_eq(noise_response(&r, &executor_random, "", 0, m2,
	    &ours), 3424);
	ck_assert(vectors_is(&v, 0, "message2.bytes", m2, 3424));
	ck_assert(sodium_is_zero((uint8_t *)&r, sizeof(r)));

	ck_assert_int_eq(noise_take_response(&i, &harness, m2, 3424, text, 0,
	    &theirs), 0);
	ck_assert(sodium_is_zero((uint8_t *)&i, sizeof(i)));
	ck_assert_mem_eq(theirs.send, ours.receive, GCM_KEY);
	ck_assert_mem_eq(theirs.receive, ours.send, GCM_KEY);
	ck_assert_mem_eq(theirs.hash, ours.hash, NOISE_HASH);
	ck_assert(vectors_is(&v, 0, "handshake_hash", ours.hash, 32));
	ck_assert(vectors_is(&v, 0, "harness_to_executor_key", ours.receive,
	    GCM_KEY));
	ck_assert(vectors_is(&v, 0, "executor_to_harness_key", ours.send,
	    GCM_KEY));
}
END_TEST

START_TEST(test_rejection)
{
	static const char	 why[] =
	    "codex-registry-authentication-rejected/v1";
	struct noise_initiator	 i;
	struct noise_responder	 r;
	struct noise_keys	 ours, theirs;

	ck_assert_int_eq(request(&i), 3600);
	ck_assert_int_eq(take_request(&r, 3600), PAYLOAD);
	ck_assert_int_eq(noise_response(&r, &executor_random, why,
	    sizeof(why) - 1, m2, &ours), 3465);
	ck_assert(vectors_is(&v, 0, "message2_rejection.bytes", m2, 3465));
	ck_assert_int_eq(noise_take_response(&i, &harness, m2, 3465, text,
	    sizeof(text), &theirs), sizeof(why) - 1);
	ck_assert_mem_eq(text, why, sizeof(why) - 1);
}
END_TEST

/* Any payload that fits; both ends agree; nothing comes twice. */
START_TEST(test_random)
{
	static const size_t	 sizes[] = {
		0, 1, 4096, NOISE_MESSAGE_MAX - NOISE_REQUEST
	};
	static uint8_t		 data[BIG], last[GCM_KEY];
	struct noise_random	 rnd;
	struct noise_initiator	 i;
	struct noise_responder	 r;
	struct noise_keys	 ours, theirs;
	size_t			 k, n;

	for (k = 0; k < 4; k++) {
		n = sizes[k];
		randombytes_buf(data, n);
		noise_random_fill(&rnd);
		ck_assert_int_eq(noise_request(&i, &harness, &executor.pub,
		    &name, &rnd, data, n, m1), NOISE_REQUEST + (int)n);
		ck_assert_int_eq(take_request(&r, NOISE_REQUEST + n), n);
		ck_assert_mem_eq(text, data, n);
		noise_random_fill(&rnd);
		ck_assert_int_eq(noise_response(&r, &rnd, "", 0, m2, &ours),
		    NOISE_RESPONSE);
		ck_assert_int_eq(noise_take_response(&i, &harness, m2,
		    NOISE_RESPONSE, text, 0, &theirs), 0);
		ck_assert_mem_eq(theirs.send, ours.receive, GCM_KEY);
		ck_assert_mem_eq(theirs.receive, ours.send, GCM_KEY);
		ck_assert_mem_ne(ours.send, ours.receive, GCM_KEY);
		ck_assert_mem_ne(last, ours.send, GCM_KEY);
		memcpy(last, ours.send, GCM_KEY);
	}
}
END_TEST

/* --- what must fail --------------------------------------------------------*/

/* Message 1 is refused, and nothing of it stays. */
static void
refused(size_t len, int error)
{
	struct noise_responder	 r;

	memset(&r, 0xa5, sizeof(r));
	MUST(take_request(&r, len) == -1 && errno == error);
	MUST(sodium_is_zero((uint8_t *)&r, sizeof(r)));
}

/* The same for message 2, as answer to a fresh message 1. */
static void
response_refused(const uint8_t *msg, size_t len, int error)
{
	struct noise_initiator	 i;
	struct noise_keys	 keys;

	MUST(request(&i) == 3600);
	memset(&keys, 0xa5, sizeof(keys));
	MUST(noise_take_response(&i, &harness, msg, len, text, sizeof(text),
	    &keys) == -1 && errno == error);
	MUST(sodium_is_zero((uint8_t *)&i, sizeof(i)));
	MUST(sodium_is_zero((uint8_t *)&keys, sizeof(keys)));
}

START_TEST(test_lengths)
{
	struct noise_initiator	 i;
	struct noise_responder	 r;
	struct noise_keys	 keys;
	size_t			 n;

	ck_assert_int_eq(request(&i), 3600);
	for (n = 0; n < NOISE_REQUEST; n++)
		refused(n, EMSGSIZE);
	for (; n < 3600; n++)
		refused(n, EPROTO);
	refused(3601, EPROTO);
	refused(NOISE_MESSAGE_MAX, EPROTO);
	refused(NOISE_MESSAGE_MAX + 1, EMSGSIZE);

	/* Room for the payload, and not. */
	ck_assert_int_eq(noise_take_request(&r, &executor, &name, m1, 3600,
	    text, PAYLOAD - 1), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(noise_take_request(&r, &executor, &name, m1, 3600,
	    text, PAYLOAD), PAYLOAD);

	ck_assert_int_eq(noise_request(&i, &harness, &executor.pub, &name,
	    &harness_random, text, NOISE_MESSAGE_MAX - NOISE_REQUEST + 1,
	    m2), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(noise_response(&r, &executor_random, text,
	    NOISE_MESSAGE_MAX - NOISE_RESPONSE + 1, m2, &keys), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert(sodium_is_zero((uint8_t *)&keys, sizeof(keys)));
}
END_TEST

/* Any bit counts, the one that X25519 ignores as well. */
START_TEST(test_bits)
{
	struct noise_initiator	 i;
	struct noise_responder	 r;
	struct noise_keys	 keys;
	size_t			 n;

	ck_assert_int_eq(request(&i), 3600);
	for (n = 0; n < 3600; n += n % 2 == 0 ? 31 : 30) {
		m1[n] ^= (uint8_t)(1 << n % 8);
		refused(3600, EPROTO);
		m1[n] ^= (uint8_t)(1 << n % 8);
	}
	m1[MLKEM_CIPHERTEXT_LEN + NOISE_DH - 1] ^= 0x80;
	refused(3600, EPROTO);
	m1[MLKEM_CIPHERTEXT_LEN + NOISE_DH - 1] ^= 0x80;

	ck_assert_int_eq(take_request(&r, 3600), PAYLOAD);
	ck_assert_int_eq(noise_response(&r, &executor_random, "", 0, m2,
	    &keys), 3424);
	for (n = 0; n < 3424; n += n % 2 == 0 ? 31 : 30) {
		m2[n] ^= (uint8_t)(1 << n % 8);
		response_refused(m2, 3424, EPROTO);
		m2[n] ^= (uint8_t)(1 << n % 8);
	}
	for (n = 0; n < 3424; n += 17)
		response_refused(m2, n, EMSGSIZE);
	response_refused(m2, 3425, EPROTO);
	response_refused(m2, NOISE_MESSAGE_MAX + 1, EMSGSIZE);
}
END_TEST

/* For another place, or another executor. */
START_TEST(test_names)
{
	static const struct noise_name	 others[] = {
		{ { "env-vecto", 9 }, { "reg-0001", 8 },
		  { "0f8b6f0e-53d9-4c43-8b36-0d8a9a4f2b11", 36 } },
		{ { "env-vector", 10 }, { "reg-0002", 8 },
		  { "0f8b6f0e-53d9-4c43-8b36-0d8a9a4f2b11", 36 } },
		{ { "env-vector", 10 }, { "reg-0001", 8 },
		  { "0f8b6f0e-53d9-4c43-8b36-0d8a9a4f2b12", 36 } },
		/* The same letters, cut elsewhere. */
		{ { "env-vectorr", 11 }, { "eg-0001", 7 },
		  { "0f8b6f0e-53d9-4c43-8b36-0d8a9a4f2b11", 36 } },
		{ { "", 0 }, { "", 0 }, { "", 0 } },
	};
	struct noise_initiator	 i;
	struct noise_responder	 r;
	size_t			 k;

	ck_assert_int_eq(request(&i), 3600);
	for (k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
		ck_assert_int_eq(noise_take_request(&r, &executor,
		    &others[k], m1, 3600, text, sizeof(text)), -1);
		ck_assert_int_eq(errno, EPROTO);
	}
	ck_assert_int_eq(noise_take_request(&r, &harness, &name, m1, 3600,
	    text, sizeof(text)), -1);
	ck_assert_int_eq(errno, EPROTO);
}
END_TEST

/*
 * Points of low order: 0, 1, one of order 8, p - 1, p and p + 1 (RFC 7748
 * section 6.1), as any key of the other end.
 */
START_TEST(test_low_order)
{
	static const uint8_t	 points[6][NOISE_DH] = {
		{ 0 }, { 1 },
		{ 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56,
		  0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb,
		  0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49,
		  0xb8, 0x00 },
#define ROW(first)							\
		{ first, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,	\
		  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,	\
		  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,	\
		  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f }
		ROW(0xec), ROW(0xed), ROW(0xee)
#undef ROW
	};
	struct noise_initiator	 i;
	struct noise_identity	 bad = harness;
	struct noise_public	 to = executor.pub;
	size_t			 k;

	for (k = 0; k < 6; k++) {
		/* The harness's own key: sealed, so the tag does fit. */
		memcpy(bad.pub.dh, points[k], NOISE_DH);
		ck_assert_int_eq(noise_request(&i, &bad, &executor.pub, &name,
		    &harness_random, payload, PAYLOAD, m1), 3600);
		refused(3600, EPROTO);
		/* Its key of this handshake. */
		ck_assert_int_eq(request(&i), 3600);
		memcpy(m1 + MLKEM_CIPHERTEXT_LEN, points[k], NOISE_DH);
		refused(3600, EPROTO);
		/* Ours, before it is used. */
		memcpy(to.dh, points[k], NOISE_DH);
		ck_assert_int_eq(noise_request(&i, &harness, &to, &name,
		    &harness_random, payload, PAYLOAD, m1), -1);
		ck_assert_int_eq(errno, EPROTO);
		ck_assert(sodium_is_zero((uint8_t *)&i, sizeof(i)));
	}
}
END_TEST

/* The executor's key of the handshake: message 2 has to be made for it. */
START_TEST(test_low_order_response)
{
	struct noise_initiator	 i;
	struct noise_responder	 r;
	struct noise_keys	 keys;

	ck_assert_int_eq(request(&i), 3600);
	ck_assert_int_eq(take_request(&r, 3600), PAYLOAD);
	ck_assert_int_eq(noise_response(&r, &executor_random, "", 0, m2,
	    &keys), 3424);
	memset(m2 + 2 * MLKEM_CIPHERTEXT_LEN + GCM_TAG, 0, NOISE_DH);
	response_refused(m2, 3424, EPROTO);
}
END_TEST

/* FIPS 203 section 7.2: a coefficient of 4095. */
static void
spoil(uint8_t kem[MLKEM_PUBLIC_LEN])
{
	kem[0] = 0xff;
	kem[1] |= 0x0f;
}

START_TEST(test_not_canonical)
{
	struct noise_initiator	 i;
	struct noise_identity	 bad = harness;
	struct noise_public	 to = executor.pub;

	spoil(bad.pub.kem);
	ck_assert_int_eq(noise_request(&i, &bad, &executor.pub, &name,
	    &harness_random, payload, PAYLOAD, m1), 3600);
	refused(3600, EPROTO);

	ck_assert_int_eq(request(&i), 3600);
	spoil(m1 + MLKEM_CIPHERTEXT_LEN + NOISE_DH);
	refused(3600, EPROTO);

	spoil(to.kem);
	ck_assert_int_eq(noise_request(&i, &harness, &to, &name,
	    &harness_random, payload, PAYLOAD, m1), -1);
	ck_assert_int_eq(errno, EPROTO);
	ck_assert(sodium_is_zero((uint8_t *)&i, sizeof(i)));
}
END_TEST

/* --- AES-256-GCM -----------------------------------------------------------*/

/* The records of the vector, which have no associated data. */
START_TEST(test_gcm)
{
	static const struct gcm_ad	 none;
	struct gcm			 seals, opens;
	struct vector			*plain, *sealed;
	uint8_t				 key[GCM_KEY];
	uint32_t			 i, list;
	uint64_t			 n;

	vectors_get(&v, "harness_to_executor_key", key, sizeof(key));
	ck_assert_int_eq(gcm_init(&seals, key, true), 0);
	ck_assert_int_eq(gcm_init(&opens, key, false), 0);
	list = vectors_find(&v, 0, "harness_to_executor_records");
	for (i = json_first(list); json_more(&v.j, list, i);
	    i = json_after_elem(&v.j, i)) {
		n = vectors_number(&v, vectors_find(&v, i, "nonce_counter"));
		plain = vectors_hex(&v, vectors_find(&v, i,
		    "record_plaintext"));
		sealed = vectors_hex(&v, vectors_find(&v, i, "ciphertext"));
		ck_assert_int_eq(gcm_seal(&seals, n, none, plain->data,
		    plain->len, text), 0);
		ck_assert_mem_eq(text, sealed->data, sealed->len);
		/* In place. */
		ck_assert_int_eq(gcm_open(&opens, n, none, text, sealed->len,
		    text), 0);
		ck_assert_mem_eq(text, plain->data, plain->len);
		free(plain);
		free(sealed);
	}
	gcm_fini(&seals);
	gcm_fini(&opens);
	gcm_fini(&opens);
}
END_TEST

START_TEST(test_gcm_refuses)
{
	static const struct gcm_ad	 none, ad = { (const uint8_t *)"x", 1 };
	struct gcm			 seals, opens;
	uint8_t				 key[GCM_KEY] = { 1 }, out[32];
	uint64_t			 n = 0x0102030405060708;
	size_t				 k;

	ck_assert_int_eq(gcm_init(&seals, key, true), 0);
	ck_assert_int_eq(gcm_init(&opens, key, false), 0);
	ck_assert_int_eq(gcm_seal(&seals, n, ad, (const uint8_t *)"0123456789"
	    "abcdef", 16, m1), 0);
	ck_assert_int_eq(gcm_open(&opens, n, ad, m1, 32, out), 0);
	ck_assert_mem_eq(out, "0123456789abcdef", 16);
	for (k = 0; k < 32; k++) {
		m1[k] ^= 4;
		memset(out, 0xa5, sizeof(out));
		ck_assert_int_eq(gcm_open(&opens, n, ad, m1, 32, out), -1);
		ck_assert_int_eq(errno, EBADMSG);
		ck_assert(sodium_is_zero(out, 16));
		m1[k] ^= 4;
		ck_assert_int_eq(gcm_open(&opens, n, ad, m1, k, out), -1);
		ck_assert_int_eq(errno, EBADMSG);
	}
	/* Another counter (the upper half too), another context. */
	ck_assert_int_eq(gcm_open(&opens, n + 1, ad, m1, 32, out), -1);
	ck_assert_int_eq(gcm_open(&opens, n & UINT32_MAX, ad, m1, 32, out),
	    -1);
	ck_assert_int_eq(gcm_open(&opens, n, none, m1, 32, out), -1);
	ck_assert_int_eq(errno, EBADMSG);
	/* The wrong way round, and too much. */
	ck_assert_int_eq(gcm_open(&seals, n, ad, m1, 32, out), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(gcm_seal(&opens, n, ad, m1, 16, out), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(gcm_seal(&seals, n, ad, m1, (size_t)1 << 31, out),
	    -1);
	ck_assert_int_eq(errno, EINVAL);
	/* Nothing at all is sealed too. */
	ck_assert_int_eq(gcm_seal(&seals, n, none, NULL, 0, out), 0);
	ck_assert_int_eq(gcm_open(&opens, n, none, out, 16, out), 0);
	gcm_fini(&seals);
	gcm_fini(&opens);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("noise");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_keys);
	tcase_add_test(tc, test_key_text);
	tcase_add_test(tc, test_messages);
	tcase_add_test(tc, test_rejection);
	tcase_add_test(tc, test_random);
	tcase_add_test(tc, test_lengths);
	tcase_add_test(tc, test_bits);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_low_order);
	tcase_add_test(tc, test_low_order_response);
	tcase_add_test(tc, test_not_canonical);
	tcase_add_test(tc, test_gcm);
	tcase_add_test(tc, test_gcm_refuses);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
