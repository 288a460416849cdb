/*
 * master/hub/fleet: what is pure in it: the text protocol of NATS, what it is
 * shown, messages between hubs, the roster.
 */
#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "master/hub/fleet/fleetmsg.h"
#include "master/hub/fleet/natscred.h"
#include "master/hub/fleet/natswire.h"
#include "master/hub/fleet/roster.h"
#include "master/hub/relay/proxyv2.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))
#define NOW	1800000000000ULL

static const char	 secret[] = "0123456789abcdef0123456789abcdef";
static const char	 other[] = "another secret, as long as needed";

/* By the reference (nkeys), with the seed 1, 8, 15, ... */
static const char	 seed[] =
    "SUAACCAPCYOSIKZSHFAEOTSVLRRWU4LYP6DI3FE3UKU3BN56YXGNHWVCJA";
static const char	 public[] =
    "UDSAGCMYZ7K22FZDYFU7SVVKBOPLQYM3LGJL2YJMFL2CR26HT6G7AGME";

static struct span
spanned(const char *text)
{
	return (struct span){ text, strlen(text) };
}

/* --- the wire --- */

static const struct {
	const char		*text;
	enum natswire_op	 op;
	const char		*subject, *reply, *data;
	int			 status;
} wires[] = {
	{ "INFO {\"a\":1} \r\n", NATSWIRE_INFO, NULL, NULL, "{\"a\":1}", 0 },
	{ "PING\r\n", NATSWIRE_PING, NULL, NULL, NULL, 0 },
	{ "PONG\r\n", NATSWIRE_PONG, NULL, NULL, NULL, 0 },
	{ "+OK\r\n", NATSWIRE_OK, NULL, NULL, NULL, 0 },
	{ "-ERR 'no'\r\n", NATSWIRE_ERR, NULL, NULL, "'no'", 0 },
	{ "MSG a.b 7 3\r\nx\ny\r\n", NATSWIRE_MSG, "a.b", NULL, "x\ny", 0 },
	{ "MSG a.b 7 r.1 0\r\n\r\n", NATSWIRE_MSG, "a.b", "r.1", "", 0 },
	{ "MSG  a.b\t7  2\r\n\r\n\r\n", NATSWIRE_MSG, "a.b", NULL, "\r\n", 0 },
	{ "HMSG a 7 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", NATSWIRE_MSG, "a",
	    NULL, "", 503 },
	{ "HMSG a 7 r 21 23\r\nNATS/1.0 408 Late\r\n\r\nhi\r\n", NATSWIRE_MSG,
	    "a", "r", "hi", 408 },
	{ "HMSG a 7 18 19\r\nNATS/1.0\r\nA: b\r\n\r\nz\r\n", NATSWIRE_MSG, "a",
	    NULL, "z", 0 },
	{ "MSG a 7 3\r\nabcd\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "MSG a 7 9999999\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "MSG a 7 1048577\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "MSG a 7 -1\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "MSG a 7\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "MSG a 7 r x 1\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "MSG a..b 7 0\r\n\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "MSG a 7 r.* 0\r\n\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "HMSG a 7 5 4\r\nNATS\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "HMSG a 7 4 4\r\nNATS\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "HMSG a 7 15 15\r\nNATS/1.0 5x\r\n\r\n\r\n", NATSWIRE_BAD, NULL,
	    NULL, NULL, 0 },
	{ "ping\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "PING\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
	{ "SSH-2.0-x\r\n", NATSWIRE_BAD, NULL, NULL, NULL, 0 },
};

START_TEST(test_wire)
{
	const char	*text = wires[_i].text;
	struct natswire	 w;
	char		*copy;
	size_t		 n, i, len = strlen(text);

	n = natswire_read(text, len, &w);
	ck_assert_int_eq(w.op, wires[_i].op);
	if (w.op == NATSWIRE_BAD) {
		ck_assert_uint_eq(n, 0);
		return;
	}
	ck_assert_uint_eq(n, len);
	ck_assert_int_eq(w.status, wires[_i].status);
	if (wires[_i].subject != NULL)
		ck_assert(span_is(w.subject, wires[_i].subject));
	ck_assert(wires[_i].reply == NULL ? w.reply.at == NULL :
	    span_is(w.reply, wires[_i].reply));
	if (wires[_i].data != NULL)
		ck_assert(span_is(w.data, wires[_i].data));
	/* Nothing is read behind its end, and less of it is not enough. */
	for (i = 0; i < len; i++) {
		copy = malloc(i + 1);
		memcpy(copy, text, i);
		ck_assert_uint_eq(natswire_read(copy, i, &w), 0);
		ck_assert_int_eq(w.op, NATSWIRE_PART);
		free(copy);
	}
}
END_TEST

START_TEST(test_wire_long)
{
	static char	 text[NATSWIRE_INFO_MAX + 8];
	struct natswire	 w;

	memset(text, 'X', sizeof(text));
	natswire_read(text, NATSWIRE_LINE_MAX - 1, &w);
	ck_assert_int_eq(w.op, NATSWIRE_PART);
	natswire_read(text, NATSWIRE_LINE_MAX, &w);
	ck_assert_int_eq(w.op, NATSWIRE_BAD);
	text[0] = 'I';
	natswire_read(text, NATSWIRE_INFO_MAX - 1, &w);
	ck_assert_int_eq(w.op, NATSWIRE_PART);
	natswire_read(text, NATSWIRE_INFO_MAX, &w);
	ck_assert_int_eq(w.op, NATSWIRE_BAD);
}
END_TEST

START_TEST(test_wire_write)
{
	static const char	 expected[] = "SUB a.b c\r\nUNSUB c\r\n"
				    "PUB a.b r 2\r\nhi\r\nPUB a.b 0\r\n\r\n";
	struct buf		 b;

	buf_init(&b, 4096);
	ck_assert_int_eq(natswire_sub(&b, "a.b", "c"), 0);
	ck_assert_int_eq(natswire_unsub(&b, "c"), 0);
	ck_assert_int_eq(natswire_pub(&b, "a.b", "r", "hi", 2), 0);
	ck_assert_int_eq(natswire_pub(&b, "a.b", NULL, "", 0), 0);
	ck_assert_uint_eq(b.len, strlen(expected));
	ck_assert_mem_eq(buf_data(&b), expected, b.len);
	buf_fini(&b);
}
END_TEST

START_TEST(test_subject)
{
	static const char	*const good[] = { "a", "a.b-c_d", "$SYS.x" };
	static const char	*const bad[] = { "", ".", "a.", ".a", "a..b",
				    "a b", "a.*", ">", "a\r", "\xc3\xa4" };
	size_t			 i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert(natswire_is_subject(spanned(good[i])));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert(!natswire_is_subject(spanned(bad[i])));
}
END_TEST

/* --- credentials --- */

/* The CONNECT of a text, as JSON; the caller's buf holds it. */
static void
connect_json(const char *text, const char *nonce, struct buf *b,
    struct json *j)
{
	struct natscred	*c = NULL;
	const char	*why = "";

	if (text != NULL) {
		c = natscred_new(text, strlen(text), &why);
		ck_assert_msg(c != NULL, "%s", why);
	}
	buf_init(b, 65536);
	ck_assert_int_eq(natscred_connect(c, nonce != NULL ? spanned(nonce) :
	    (struct span){ NULL, 0 }, "hub-a", b), 0);
	ck_assert_mem_eq(buf_data(b), "CONNECT {", 9);
	ck_assert_mem_eq(buf_data(b) + b->len - 2, "\r\n", 2);
	json_init(j);
	ck_assert_int_eq(json_parse(j, (char *)buf_data(b) + 8, b->len - 10),
	    0);
	ck_assert(json_is_text(j, json_find(j, 0, "name"), "hub-a"));
	ck_assert_int_eq(json_tok(j, json_find(j, 0, "echo"))->type,
	    JSON_FALSE);
	ck_assert_int_eq(json_tok(j, json_find(j, 0, "no_responders"))->type,
	    JSON_TRUE);
	natscred_free(&c);
}

static void
has(const struct json *j, const char *key, const char *value)
{
	uint32_t	 i = json_find(j, 0, key);

	if (value == NULL)
		ck_assert_uint_eq(i, 0);
	else
		ck_assert(i != 0 && json_is_text(j, i, value));
}

START_TEST(test_cred)
{
	static const struct {
		const char	*text, *user, *pass, *token;
	} rows[] = {
		{ NULL, NULL, NULL, NULL },
		{ "hub:pass:word\n", "hub", "pass:word", NULL },
		{ "s3cret\r\n", NULL, NULL, "s3cret" },
		{ "q\"uote:\\", "q\"uote", "\\", NULL },
	};
	struct buf	 b;
	struct json	 j;

	connect_json(rows[_i].text, "nonce", &b, &j);
	has(&j, "user", rows[_i].user);
	has(&j, "pass", rows[_i].pass);
	has(&j, "auth_token", rows[_i].token);
	has(&j, "sig", NULL);
	json_fini(&j);
	buf_fini(&b);
}
END_TEST

/* The signature is one of the nonce, by the public key that is shown. */
static void
check_signature(const struct json *j, const char *nonce)
{
	uint8_t		 key[crypto_sign_PUBLICKEYBYTES];
	uint8_t		 sk[crypto_sign_SECRETKEYBYTES], raw[32], sig[64];
	uint32_t	 i = json_find(j, 0, "sig");
	size_t		 n, k;

	for (k = 0; k < sizeof(raw); k++)
		raw[k] = (uint8_t)(k * 7 + 1);
	crypto_sign_seed_keypair(key, sk, raw);
	ck_assert_uint_ne(i, 0);
	ck_assert_int_eq(sodium_base642bin(sig, sizeof(sig), json_text(j, i),
	    json_tok(j, i)->len, NULL, &n, NULL,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING), 0);
	ck_assert_uint_eq(n, sizeof(sig));
	ck_assert_int_eq(crypto_sign_verify_detached(sig,
	    (const uint8_t *)nonce, strlen(nonce), key), 0);
}

START_TEST(test_nkey)
{
	static const char	 creds[] = "-----BEGIN NATS USER JWT-----\n"
				    "eyJ0eXAi.x.y\n"
				    "------END NATS USER JWT------\n\n"
				    "***** IMPORTANT *****\n\n"
				    "-----BEGIN USER NKEY SEED-----\n%s\n"
				    "------END USER NKEY SEED------\n";
	struct natscred		*c;
	struct buf		 b;
	struct json		 j;
	char			 text[512];
	const char		*why;

	c = natscred_new(seed, strlen(seed), &why);
	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(natscred_public(c), public);
	natscred_free(&c);
	connect_json(seed, "a nonce", &b, &j);
	has(&j, "nkey", public);
	has(&j, "jwt", NULL);
	check_signature(&j, "a nonce");
	json_fini(&j);
	buf_fini(&b);
	snprintf(text, sizeof(text), creds, seed);
	connect_json(text, "another", &b, &j);
	has(&j, "jwt", "eyJ0eXAi.x.y");
	has(&j, "nkey", NULL);
	check_signature(&j, "another");
	json_fini(&j);
	buf_fini(&b);
}
END_TEST

START_TEST(test_cred_bad)
{
	static const char	*const bad[] = { "", "\n", "a\nb", "a:b\nc",
				    "-----BEGIN NATS USER JWT-----\nx\n",
				    "-----BEGIN NATS USER JWT-----\nx\n--\n"
				    "-----BEGIN USER NKEY SEED-----\nSUA\n-\n"
				    };
	static char		 big[20000];
	const char		*why;
	char			 text[64];
	size_t			 i;
	struct natscred		*c;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why = NULL;
		ck_assert_ptr_null(natscred_new(bad[i], strlen(bad[i]),
		    &why));
		ck_assert_ptr_nonnull(why);
	}
	memset(big, 'a', sizeof(big));
	ck_assert_ptr_null(natscred_new(big, sizeof(big), &why));
	/* One that is damaged is no seed, and so a token. */
	for (i = 2; i < strlen(seed); i++) {
		strcpy(text, seed);
		text[i] = text[i] == 'A' ? 'B' : 'A';
		c = natscred_new(text, strlen(text), &why);
		ck_assert_ptr_nonnull(c);
		ck_assert_ptr_null(natscred_public(c));
		natscred_free(&c);
	}
}
END_TEST

/* --- messages --- */

static struct fleetmsg
a_message(void)
{
	struct fleetmsg	 m = { .kind = FLEETMSG_WHERE, .made = NOW,
			    .body = { "body", 4 } };

	memset(m.nonce, 1, sizeof(m.nonce));
	memset(m.from, 2, sizeof(m.from));
	strcpy(m.environment, "build-1");
	return m;
}

static void
keys_of(struct ticket_keys *k, const char *first, const char *second)
{
	memset(k, 0, sizeof(*k));
	ck_assert_int_eq(ticket_keys_add(k, first, strlen(first)), 0);
	if (second != NULL)
		ck_assert_int_eq(ticket_keys_add(k, second, strlen(second)),
		    0);
}

static void
written(const struct ticket_keys *k, const struct fleetmsg *m, struct buf *b)
{
	buf_init(b, 65536);
	ck_assert_int_eq(fleetmsg_write(k, m, b), 0);
}

static struct span
bytes(const struct buf *b)
{
	return (struct span){ (const char *)buf_data(b), b->len };
}

START_TEST(test_message)
{
	struct ticket_keys	 k, later, alien;
	struct fleetmsg		 m = a_message(), got;
	struct buf		 b;
	size_t			 i;

	keys_of(&k, secret, NULL);
	keys_of(&later, other, secret);
	keys_of(&alien, other, NULL);
	m.kind = (enum fleetmsg_kind)_i;
	written(&k, &m, &b);
	ck_assert_int_eq(fleetmsg_read(&k, bytes(&b), &got), 0);
	ck_assert_int_eq(got.kind, m.kind);
	ck_assert_uint_eq(got.made, NOW);
	ck_assert_mem_eq(got.nonce, m.nonce, sizeof(m.nonce));
	ck_assert_mem_eq(got.from, m.from, sizeof(m.from));
	ck_assert_str_eq(got.environment, "build-1");
	ck_assert(span_is(got.body, "body"));
	ck_assert_int_eq(fleetmsg_read(&later, bytes(&b), &got), 0);
	ck_assert_int_eq(fleetmsg_read(&alien, bytes(&b), &got), -1);
	for (i = 0; i < b.len; i++) {
		ck_assert_int_eq(fleetmsg_read(&k, (struct span){
		    bytes(&b).at, i }, &got), -1);
		buf_data(&b)[i] ^= 0x20;
		ck_assert_int_eq(fleetmsg_read(&k, bytes(&b), &got), -1);
		buf_data(&b)[i] ^= 0x20;
	}
	buf_fini(&b);
}
END_TEST

/* Signed, but not what one of us says. */
START_TEST(test_message_wrong)
{
	struct ticket_keys	 k;
	struct fleetmsg		 m = a_message(), got;
	struct ticket		 t = { .made = 1, .until = 2 };
	struct buf		 b;
	char			 text[TICKET_MAX + 1];

	keys_of(&k, secret, NULL);
	m.kind = FLEETMSG_KINDS;
	written(&k, &m, &b);
	ck_assert_int_eq(fleetmsg_read(&k, bytes(&b), &got), -1);
	buf_fini(&b);
	m = a_message();
	strcpy(m.environment, "a/b");
	written(&k, &m, &b);
	ck_assert_int_eq(fleetmsg_read(&k, bytes(&b), &got), -1);
	buf_fini(&b);
	/* A ticket of the site is none. */
	ticket_write(&k, TICKET_HARNESS, "build-1", &t, text);
	ck_assert_int_eq(fleetmsg_read(&k, spanned(text), &got), -1);
}
END_TEST

START_TEST(test_message_times)
{
	struct fleetmsg	 m = a_message();

	ck_assert(fleetmsg_is_timely(&m, NOW, 0));
	ck_assert(fleetmsg_is_timely(&m, NOW + 60000, 60000));
	ck_assert(!fleetmsg_is_timely(&m, NOW + 60001, 60000));
	ck_assert(fleetmsg_is_timely(&m, NOW - 60000, 60000));
	ck_assert(!fleetmsg_is_timely(&m, NOW - 60001, 60000));
}
END_TEST

START_TEST(test_place)
{
	struct engine_place	 p = { .hub_url = "https://hub-a",
				    .internal_url = "http://10.0.0.1:80",
				    .is_proxied = true,
				    .labels = "pool=build",
				    .subject = "token:x" }, got;
	struct fleetmsg_texts	 texts;
	struct buf		 b;
	uint8_t			*at;
	size_t			 i;

	memset(p.registration, 7, sizeof(p.registration));
	memset(&p.key, 9, sizeof(p.key));
	buf_init(&b, 4096);
	ck_assert_int_eq(fleetmsg_put_place(&b, &p), 0);
	ck_assert_int_eq(fleetmsg_get_place(bytes(&b), &texts, &got), 0);
	ck_assert_str_eq(got.hub_url, p.hub_url);
	ck_assert_str_eq(got.internal_url, p.internal_url);
	ck_assert_str_eq(got.labels, p.labels);
	ck_assert_str_eq(got.subject, p.subject);
	ck_assert(got.is_proxied);
	ck_assert_mem_eq(&got.key, &p.key, sizeof(p.key));
	ck_assert_mem_eq(got.registration, p.registration, REGISTRATION_LEN);
	for (i = 0; i < b.len; i++)
		ck_assert_int_eq(fleetmsg_get_place((struct span){
		    bytes(&b).at, i }, &texts, &got), -1);
	ck_assert_int_eq(buf_put(&b, "", 1), 0);
	ck_assert_int_eq(fleetmsg_get_place(bytes(&b), &texts, &got), -1);
	/* A text with a line break, for a log or a head. */
	at = buf_data(&b);
	ck_assert_ptr_nonnull(at);
	at[20] = '\n';
	ck_assert_int_eq(fleetmsg_get_place((struct span){ bytes(&b).at,
	    b.len - 1 }, &texts, &got), -1);
	buf_fini(&b);
}
END_TEST

/* Harnesses are sent there: no other scheme, or "": to any hub. */
START_TEST(test_place_url)
{
	static const struct {
		const char	*url;
		int		 r;
	}			 rows[] = {
		{ "", 0 }, { "http://a", 0 }, { "https://a", 0 },
		{ "ftp://a", -1 }, { "http", -1 }, { "httpx://a", -1 },
		{ "a", -1 }
	};
	struct engine_place	 p = { .hub_url = rows[_i].url,
				    .internal_url = "", .labels = "",
				    .subject = "token:x" }, got;
	struct fleetmsg_texts	 texts;
	struct buf		 b;

	buf_init(&b, 4096);
	ck_assert_int_eq(fleetmsg_put_place(&b, &p), 0);
	ck_assert_int_eq(fleetmsg_get_place(bytes(&b), &texts, &got),
	    rows[_i].r);
	buf_fini(&b);
}
END_TEST

START_TEST(test_claim)
{
	struct engine_claim	 c = { .since = 1234567890123,
				    .is_again = true }, got;
	struct buf		 b;
	uint8_t			*at;
	size_t			 i;

	memset(c.registration, 3, sizeof(c.registration));
	memset(c.key_hash, 4, sizeof(c.key_hash));
	buf_init(&b, 4096);
	ck_assert_int_eq(fleetmsg_put_claim(&b, &c), 0);
	ck_assert_int_eq(fleetmsg_get_claim(bytes(&b), &got), 0);
	ck_assert_uint_eq(got.since, c.since);
	ck_assert(got.is_again);
	ck_assert_mem_eq(got.key_hash, c.key_hash, sizeof(c.key_hash));
	for (i = 0; i < b.len; i++)
		ck_assert_int_eq(fleetmsg_get_claim((struct span){
		    bytes(&b).at, i }, &got), -1);
	at = buf_data(&b);
	ck_assert_ptr_nonnull(at);
	at[0] = 2;
	ck_assert_int_eq(fleetmsg_get_claim(bytes(&b), &got), -1);
	buf_fini(&b);
}
END_TEST

/* --- the roster --- */

static const uint8_t	*
id(uint8_t n)
{
	static uint8_t	 ids[256][ROSTER_ID_LEN];

	memset(ids[n], n, ROSTER_ID_LEN);
	return ids[n];
}

START_TEST(test_roster)
{
	struct roster		 r;
	struct roster_wait	 w;
	char			 name[16];
	uint8_t			 i;

	roster_init(&r);
	ck_assert(roster_hello(&r, id(1), spanned("a"), 1000));
	ck_assert(!roster_hello(&r, id(1), spanned("a"), 2000));
	ck_assert(roster_hello(&r, id(2), spanned("b"), 2000));
	ck_assert(!roster_hello(&r, id(3), spanned(""), 2000));
	ck_assert(!roster_hello(&r, id(3), spanned("x\ny"), 2000));
	ck_assert_mem_eq(roster_find(&r, "b"), id(2), ROSTER_ID_LEN);
	ck_assert_ptr_null(roster_find(&r, "c"));
	/* Started again: the same name, another id. */
	ck_assert(roster_hello(&r, id(4), spanned("a"), 2000));
	ck_assert_mem_eq(roster_find(&r, "a"), id(4), ROSTER_ID_LEN);
	roster_expect(&r, &w);
	ck_assert_uint_eq(w.n, 2);
	ck_assert(!roster_heard(&w, id(1)));
	ck_assert(!roster_heard(&w, id(2)));
	ck_assert(!roster_heard(&w, id(2)));
	ck_assert(roster_heard(&w, id(4)));
	roster_bye(&r, id(2));
	ck_assert_ptr_null(roster_find(&r, "b"));
	roster_sweep(&r, 2000 + ROSTER_FORGET - 1);
	ck_assert_uint_eq(r.n, 1);
	roster_sweep(&r, 2000 + ROSTER_FORGET);
	ck_assert_uint_eq(r.n, 0);
	for (i = 0; i < ROSTER_MAX + 5; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		ck_assert(roster_hello(&r, id(i), spanned(name), 0) ==
		    (i < ROSTER_MAX));
	}
}
END_TEST

/* --- the PROXY protocol, written --- */

START_TEST(test_proxyv2_write)
{
	static const char	*const addresses[] = { "10.1.2.3",
				    "2001:db8::1", "" };
	static const size_t	 lengths[] = { 28, 52, 16 };
	uint8_t			 out[PROXYV2_WRITTEN];
	char			 got[INET6_ADDRSTRLEN];

	ck_assert_uint_eq(proxyv2_write(addresses[_i], out), lengths[_i]);
	ck_assert_int_eq(proxyv2_read(out, lengths[_i], got),
	    (int)lengths[_i]);
	ck_assert_str_eq(got, addresses[_i]);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("fleet");
	TCase	*t = tcase_create("pure");
	SRunner	*sr;
	int	 failed;

	if (sodium_init() == -1)
		return EXIT_FAILURE;
	tcase_add_loop_test(t, test_wire, 0, N(wires));
	tcase_add_test(t, test_wire_long);
	tcase_add_test(t, test_wire_write);
	tcase_add_test(t, test_subject);
	tcase_add_loop_test(t, test_cred, 0, 4);
	tcase_add_test(t, test_nkey);
	tcase_add_test(t, test_cred_bad);
	tcase_add_loop_test(t, test_message, FLEETMSG_WHERE, FLEETMSG_KINDS);
	tcase_add_test(t, test_message_wrong);
	tcase_add_test(t, test_message_times);
	tcase_add_test(t, test_place);
	tcase_add_loop_test(t, test_place_url, 0, 7);
	tcase_add_test(t, test_claim);
	tcase_add_test(t, test_roster);
	tcase_add_loop_test(t, test_proxyv2_write, 0, 3);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
