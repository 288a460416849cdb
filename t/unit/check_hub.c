/*
 * master/hub: what is pure in it: tickets, heads of frames, the PROXY protocol,
 * rules, tokens, subjects, tickets that are used up.
 */
#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/relay.h"
#include "master/hub/admit/hubrules.h"
#include "master/hub/admit/hubtoken.h"
#include "master/hub/relay/proxyv2.h"
#include "master/hub/relay/relayhead.h"
#include "master/hub/admit/replay.h"
#include "master/hub/admit/subject.h"
#include "master/hub/admit/ticket.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))
#define NOW	1800000000

static const char	 secret[] = "0123456789abcdef0123456789abcdef";

/* --- tickets --- */

static struct ticket
a_ticket(void)
{
	struct ticket	 t = { .made = NOW, .until = NOW + 60, .limit = 7,
			    .rate = 9 };

	strcpy(t.subject, "token:ci");
	strcpy(t.labels, "pool=build");
	memset(&t.key, 0x5a, sizeof(t.key));
	memset(t.harness, 0xa5, sizeof(t.harness));
	registration_make(t.registration, NOW * 1000ULL);
	return t;
}

static struct span
spanned(const char *text)
{
	return (struct span){ text, strlen(text) };
}

START_TEST(test_ticket)
{
	enum ticket_role	 role = (enum ticket_role)_i, other;
	struct ticket_keys	 k = { 0 };
	struct ticket		 t = a_ticket(), got;
	char			 text[TICKET_MAX + 1];
	size_t			 n;

	ck_assert_int_eq(ticket_keys_add(&k, secret, strlen(secret)), 0);
	n = ticket_write(&k, role, "build-1", &t, text);
	ck_assert_uint_eq(n, strlen(text));
	ck_assert_int_eq(ticket_read(&k, role, "build-1", spanned(text), NOW,
	    0, &got), TICKET_GOOD);
	ck_assert_str_eq(got.subject, t.subject);
	ck_assert_uint_eq(got.made, t.made);
	ck_assert_uint_eq(got.until, t.until);
	ck_assert_uint_eq(got.limit, 7);
	ck_assert_uint_eq(got.rate, 9);
	ck_assert_mem_eq(got.registration, t.registration, REGISTRATION_LEN);
	if (role == TICKET_EXECUTOR) {
		ck_assert_str_eq(got.labels, t.labels);
		ck_assert_mem_eq(&got.key, &t.key, sizeof(t.key));
	} else {
		ck_assert_mem_eq(got.harness, t.harness, HUBKEY_HASH_LEN);
	}
	/* Of another role, of another environment. */
	for (other = 0; other < TICKET_ROLES; other++)
		ck_assert_int_eq(ticket_read(&k, other, "build-1",
		    spanned(text), NOW, 0, &got), other == role ? TICKET_GOOD :
		    TICKET_FORGED);
	ck_assert_int_eq(ticket_read(&k, role, "build-2", spanned(text), NOW,
	    0, &got), TICKET_FORGED);
	ck_assert_int_eq(ticket_read(&k, role, "build-", spanned(text), NOW, 0,
	    &got), TICKET_FORGED);
}
END_TEST

START_TEST(test_ticket_longest)
{
	struct ticket_keys	 k = { 0 };
	struct ticket		 t = a_ticket(), got;
	char			 text[TICKET_MAX + 1];

	memset(t.subject, 's', TICKET_SUBJECT_MAX);
	memset(t.labels, 'l', TICKET_LABELS_MAX);
	ck_assert_int_eq(ticket_keys_add(&k, secret, strlen(secret)), 0);
	ck_assert_uint_le(ticket_write(&k, TICKET_EXECUTOR, "e", &t, text),
	    TICKET_MAX);
	ck_assert_int_eq(ticket_read(&k, TICKET_EXECUTOR, "e", spanned(text),
	    NOW, 0, &got), TICKET_GOOD);
	ck_assert_str_eq(got.subject, t.subject);
	ck_assert_str_eq(got.labels, t.labels);
}
END_TEST

/* No text but this one is good: each bit of it counts. */
START_TEST(test_ticket_forged)
{
	struct ticket_keys	 k = { 0 };
	struct ticket		 t = a_ticket(), got;
	char			 text[TICKET_MAX + 1], bad[TICKET_MAX + 2];
	size_t			 i, n;

	ck_assert_int_eq(ticket_keys_add(&k, secret, strlen(secret)), 0);
	n = ticket_write(&k, TICKET_HARNESS, "e", &t, text);
	for (i = 0; i < n; i++) {
		memcpy(bad, text, n + 1);
		bad[i] ^= 1;
		ck_assert_int_ne(ticket_read(&k, TICKET_HARNESS, "e",
		    (struct span){ bad, n }, NOW, 0, &got), TICKET_GOOD);
		ck_assert_int_eq(ticket_read(&k, TICKET_HARNESS, "e",
		    (struct span){ text, i }, NOW, 0, &got), TICKET_FORGED);
	}
	memcpy(bad, text, n);
	strcpy(bad + n, "A");
	ck_assert_int_eq(ticket_read(&k, TICKET_HARNESS, "e", spanned(bad),
	    NOW, 0, &got), TICKET_FORGED);
	bad[n - 1] = (char)0xdf;
	ck_assert_int_eq(ticket_read(&k, TICKET_HARNESS, "e",
	    (struct span){ bad, n }, NOW, 0, &got), TICKET_FORGED);
}
END_TEST

START_TEST(test_ticket_times)
{
	static const struct {
		uint64_t		 now, skew;
		enum ticket_verdict	 v;
	} rows[] = {
		{ NOW, 0, TICKET_GOOD }, { NOW - 1, 0, TICKET_EARLY },
		{ NOW - 1, 1, TICKET_GOOD }, { NOW + 60, 0, TICKET_GOOD },
		{ NOW + 61, 0, TICKET_EXPIRED }, { NOW + 61, 1, TICKET_GOOD },
		{ NOW + 62, 1, TICKET_EXPIRED }, { 0, 60, TICKET_EARLY },
	};
	struct ticket_keys	 k = { 0 };
	struct ticket		 t = a_ticket(), got;
	char			 text[TICKET_MAX + 1];
	int			 i;

	ck_assert_int_eq(ticket_keys_add(&k, secret, strlen(secret)), 0);
	ticket_write(&k, TICKET_HARNESS, "e", &t, text);
	for (i = 0; i < N(rows); i++)
		ck_assert_int_eq(ticket_read(&k, TICKET_HARNESS, "e",
		    spanned(text), rows[i].now, rows[i].skew, &got),
		    rows[i].v);
}
END_TEST

START_TEST(test_ticket_secrets)
{
	static const char	 later[] = "fedcba9876543210fedcba9876543210";
	struct ticket_keys	 old = { 0 }, both = { 0 }, now = { 0 };
	struct ticket		 t = a_ticket(), got;
	char			 text[TICKET_MAX + 1];

	ck_assert_int_eq(ticket_keys_add(&old, secret, 32), 0);
	ck_assert_int_eq(ticket_keys_add(&both, later, 32), 0);
	ck_assert_int_eq(ticket_keys_add(&both, secret, 32), 0);
	ck_assert_int_eq(ticket_keys_add(&now, later, 32), 0);
	ck_assert_int_eq(ticket_keys_add(&both, later, 32), -1);
	ck_assert_int_eq(ticket_keys_add(&now, later, 31), -1);
	ticket_write(&old, TICKET_HARNESS, "e", &t, text);
	ck_assert_int_eq(ticket_read(&both, TICKET_HARNESS, "e",
	    spanned(text), NOW, 0, &got), TICKET_GOOD);
	ck_assert_int_eq(ticket_read(&now, TICKET_HARNESS, "e", spanned(text),
	    NOW, 0, &got), TICKET_FORGED);
	ticket_write(&both, TICKET_HARNESS, "e", &t, text);
	ck_assert_int_eq(ticket_read(&now, TICKET_HARNESS, "e", spanned(text),
	    NOW, 0, &got), TICKET_GOOD);
}
END_TEST

START_TEST(test_registration)
{
	uint8_t	 a[REGISTRATION_LEN], b[REGISTRATION_LEN];
	char	 text[REGISTRATION_TEXT + 1];

	registration_make(a, NOW);
	registration_make(b, NOW + 1);
	ck_assert_int_lt(memcmp(a, b, sizeof(a)), 0);
	registration_make(b, NOW);
	ck_assert_mem_ne(a, b, sizeof(a));
	registration_text(a, text);
	ck_assert_int_eq(memcmp(text, "000000006b49d200", 16), 0);
}
END_TEST

/* --- heads of frames --- */

static const struct {
	const char	*bytes;
	size_t		 len;
	const char	*id;		/* NULL: refused */
	bool		 is_reset;
} heads[] = {
#define HEAD(bytes, id, is)	{ bytes, sizeof(bytes) - 1, id, is }
	HEAD("\x08\x01\x12\x01" "a" "\x2a\x02xy", "a", false),
	HEAD("\x2a\x02xy\x12\x03" "abc" "\x08\x01", "abc", false),
	HEAD("\x12\x01" "a" "\x42\x02\x0a\x00", "a", true),
	/* Of several bodies the last one counts. */
	HEAD("\x12\x01" "a" "\x42\x00\x2a\x01x", "a", false),
	HEAD("\x12\x01" "a" "\x2a\x01x\x42\x00", "a", true),
	/* Unknown fields of all kinds. */
	HEAD("\x12\x01" "a" "\x9a\x06\x01z\xa0\x06\xff\x01"
	    "\xa9\x06" "12345678" "\xb5\x06" "1234", "a", false),
	HEAD("", NULL, false),
	HEAD("\x12", NULL, false),
	HEAD("\x12\x00", NULL, false),
	HEAD("\x12\x02" "a", NULL, false),
	HEAD("\x08\x01\x2a\x01x", NULL, false),
	/* Twice, of another type, in a group, field 0. */
	HEAD("\x12\x01" "a" "\x12\x01" "b", NULL, false),
	HEAD("\x12\x01" "a" "\x10\x01", NULL, false),
	HEAD("\x10\x01", NULL, false),
	HEAD("\x12\x01" "a" "\x2b\x2c", NULL, false),
	HEAD("\x12\x01" "a" "\x02\x00", NULL, false),
	/* Tags and lengths that do not fit 32 bits. */
	HEAD("\x92\x80\x80\x80\x10\x01" "a", NULL, false),
	HEAD("\x92\x80\x80\x80\x80\x00\x01" "a", NULL, false),
	HEAD("\x12\x81\x80\x80\x80\x80\x00" "a", NULL, false),
	HEAD("\x12\x81\x80\x80\x80\x10" "a", NULL, false),
	HEAD("\x12\xff\xff\xff\xff\x0f" "a", NULL, false),
	/* The last body counts, and a flow is one. */
	HEAD("\x12\x01" "a" "\x42\x03\x0a\x01x" "\xca\x3e\x00", "a", false),
	HEAD("\x12\x01" "a" "\xca\x3e\x00" "\x42\x03\x0a\x01x", "a", true),
	/* Values of varints may have 64 bits, and no more. */
	HEAD("\x12\x01" "a" "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	    "a", false),
	HEAD("\x12\x01" "a"
	    "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", NULL, false),
	HEAD("\x12\x01" "a" "\x21" "1234567", NULL, false),
	HEAD("\x12\x01" "a" "\x25" "123", NULL, false),
#undef HEAD
};

START_TEST(test_relayhead)
{
	struct relayhead	 h;
	int			 r = relayhead_read(&h, heads[_i].bytes,
				    heads[_i].len);

	ck_assert_int_eq(r, heads[_i].id == NULL ? -1 : 0);
	if (r == -1)
		return;
	ck_assert(span_is(h.id, heads[_i].id));
	ck_assert_int_eq(h.is_reset, heads[_i].is_reset);
}
END_TEST

START_TEST(test_relayhead_reset)
{
	static const size_t	 lengths[] = { 1, 36, 127, 128, 200 };
	char			 id[RELAYHEAD_ID_MAX + 1];
	uint8_t			 out[RELAYHEAD_RESET_MAX];
	struct relayhead	 h;
	size_t			 n;

	memset(id, 'i', sizeof(id));
	n = relayhead_reset((struct span){ id, lengths[_i] }, "because", out);
	ck_assert_int_eq(relayhead_read(&h, out, n), 0);
	ck_assert_uint_eq(h.id.len, lengths[_i]);
	ck_assert(h.is_reset);
	ck_assert_int_eq(memcmp(out + n - 7, "because", 7), 0);
}
END_TEST

static const struct {
	const char	*bytes;
	size_t		 len;
	bool		 is_plain;
} resets[] = {
#define RESET(bytes, is)	{ bytes, sizeof(bytes) - 1, is }
	RESET("\x08\x01\x12\x01" "a" "\x42\x03\x0a\x01x", true),
	RESET("\x08\x01\x12\x01" "a" "\x42\x07\x0a\x05" "a_b-c", true),
	/* Of another version, or of none. */
	RESET("\x08\x02\x12\x01" "a" "\x42\x03\x0a\x01x", false),
	RESET("\x12\x01" "a" "\x42\x03\x0a\x01x", false),
	/* Without a reason; with one that is none. */
	RESET("\x08\x01\x12\x01" "a" "\x42\x00", false),
	RESET("\x08\x01\x12\x01" "a" "\x42\x02\x0a\x00", false),
	RESET("\x08\x01\x12\x01" "a" "\x42\x03\x0a\x01\xff", false),
	RESET("\x08\x01\x12\x01" "a" "\x42\x03\x0a\x01 ", false),
	RESET("\x08\x01\x12\x01" "a" "\x42\x03\x12\x01x", false),
	/* Lengths that do not fit. */
	RESET("\x08\x01\x12\x01" "a" "\x42\x03\x0a\x02x", false),
	RESET("\x08\x01\x12\x01" "a" "\x42\x05\x0a\x01x\x10\x01", false),
	/* With more before or after it. */
	RESET("\x08\x01\x12\x01" "a" "\x42\x03\x0a\x01x" "\x5a\x01\xff",
	    false),
	RESET("\x08\x01\x12\x01" "a" "\x2a\x00\x42\x03\x0a\x01x", false),
#undef RESET
};

START_TEST(test_relayhead_plain)
{
	struct relayhead	 h;

	ck_assert_int_eq(relayhead_read(&h, resets[_i].bytes, resets[_i].len),
	    0);
	ck_assert(h.is_reset);
	ck_assert_int_eq(relayhead_is_plain_reset(&h, resets[_i].bytes,
	    resets[_i].len), resets[_i].is_plain);
}
END_TEST

START_TEST(test_relayhead_flow)
{
	static const size_t	 lengths[] = { 1, 127, 128 };
	char			 id[RELAYHEAD_ID_MAX + 1];
	uint8_t			 out[RELAYHEAD_RESET_MAX];
	struct relay_frame	 f;
	struct relayhead	 h;
	size_t			 n;
	int			 i;

	memset(id, 'i', sizeof(id));
	for (i = 0; i < 2; i++) {
		n = relayhead_flow((struct span){ id, lengths[_i] }, i == 1,
		    out);
		ck_assert_int_eq(relayhead_read(&h, out, n), 0);
		ck_assert(!h.is_reset);
		ck_assert_int_eq(relay_decode(&f, out, n), 0);
		ck_assert_int_eq((int)f.kind, (int)RELAY_FLOW);
		ck_assert_uint_eq(f.id.len, lengths[_i]);
		ck_assert_uint_eq(f.seq, (uint32_t)i);
		relay_free(&f);
	}
}
END_TEST

/* --- the PROXY protocol --- */

#define SIGNATURE	"\r\n\r\n\0\r\nQUIT\n"

START_TEST(test_proxyv2)
{
	static const char	 four[] = SIGNATURE "\x21\x11\0\x0c"
				    "\x0a\x01\x02\x03\x7f\0\0\1\1\2\3\4rest";
	static const char	 six[] = SIGNATURE "\x21\x21\0\x24"
				    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
				    "0123456789abcdef" "1234";
	static const char	 local[] = SIGNATURE "\x20\0\0\0";
	static const char	*const bad[] = { SIGNATURE "\x22\x11\0\0",
				    SIGNATURE "\x11\x11\0\0",
				    SIGNATURE "\x21\x11\x7f\0", "GET / HTTP",
				    "\r\n\r\n\r" };
	static const char	 cut[] = SIGNATURE "\x21\x11\0\x0b"
				    "\x0a\x01\x02\x03\x7f\0\0\1\1\2\3\4";
	static const char	 cut6[] = SIGNATURE "\x21\x21\0\x0c"
				    "\x0a\x01\x02\x03\x7f\0\0\1\1\2\3\4";
	char			 a[INET6_ADDRSTRLEN];
	size_t			 i;

	ck_assert_int_eq(proxyv2_read(four, sizeof(four) - 1, a), 28);
	ck_assert_str_eq(a, "10.1.2.3");
	for (i = 0; i < 28; i++)
		ck_assert_int_eq(proxyv2_read(four, i, a), 0);
	ck_assert_int_eq(proxyv2_read(six, sizeof(six) - 1, a), 52);
	ck_assert_str_eq(a, "2001:db8::1");
	ck_assert_int_eq(proxyv2_read(local, sizeof(local) - 1, a), 16);
	ck_assert_str_eq(a, "");
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(proxyv2_read(bad[i], 16, a), -1);
	ck_assert_int_eq(proxyv2_read(bad[3], 10, a), -1);
	ck_assert_int_eq(proxyv2_read(bad[4], 5, a), -1);
	ck_assert_int_eq(proxyv2_read(cut, sizeof(cut) - 1, a), -1);
	ck_assert_int_eq(proxyv2_read(cut6, sizeof(cut6) - 1, a), -1);
}
END_TEST

/* --- rules --- */

static struct hubconf
a_conf(const char *text)
{
	struct hubconf		 c;
	struct conf_error	 e;
	char			*copy = strdup(text);

	ck_assert_ptr_nonnull(copy);
	ck_assert_int_eq(hubconf_init(&c), 0);
	ck_assert_msg(hubconf_parse(&c, "/c", copy, strlen(copy), NULL,
	    NULL, &e) == 0,
	    "%s", e.text);
	free(copy);
	return c;
}

static const char	 rules[] =
	"DenySubject token:evil*\n"
	"Match Executor token:a,!token:b\n"
	"	MayRegister ${subject}-*,!a-x\n"
	"	Label pool=a,zone=eu\n"
	"Match Executor all\n"
	"	MayRegister common-?\n"
	"	Label pool=rest\n"
	"	MaxEnvironments 3\n"
	"Match Harness group:ci\n"
	"	MayConnect pool=a\n"
	"Match Harness token:h,jwt:*\n"
	"	MayConnect a-*\n"
	"	MaxStreams 5\n"
	"	MayList yes\n";

static const struct {
	const char	*who, *environment;
	bool		 may;
} registers[] = {
	{ "token:a", "a-1", true }, { "token:a", "a-x", false },
	{ "token:a", "b-1", false }, { "token:b", "b-1", false },
	{ "token:b", "common-1", true }, { "token:a", "common-1", true },
	{ "token:a", "common-12", false },
};

START_TEST(test_register)
{
	struct hubconf		 c = a_conf(rules);
	struct subject_is	 who = { .name = registers[_i].who };

	ck_assert_int_eq(hubrules_may_register(&c, &who,
	    registers[_i].environment), registers[_i].may);
	hubconf_fini(&c);
}
END_TEST

static const struct {
	const char	*who, *group, *environment, *labels;
	int		 answer;
} connects[] = {
	{ "token:h", NULL, "a-1", NULL, RULES_YES },
	{ "token:h", NULL, "b-1", NULL, RULES_NO },
	{ "token:h", NULL, "b-1", "pool=a", RULES_NO },
	{ "jwt:x", "ci", "b-1", NULL, RULES_DEPENDS },
	{ "jwt:x", "ci", "b-1", "zone=eu,pool=a", RULES_YES },
	{ "jwt:x", "ci", "b-1", "pool=ab", RULES_NO },
	{ "jwt:x", "ci", "b-1", "", RULES_NO },
	{ "token:a", NULL, "a-1", NULL, RULES_NO },
};

START_TEST(test_connect)
{
	struct hubconf		 c = a_conf(rules);
	char			*group = (char *)(uintptr_t)
				    connects[_i].group;
	struct subject_is	 who = { .name = connects[_i].who,
				    .group = &group,
				    .ngroup = group != NULL };

	ck_assert_int_eq(hubrules_may_connect(&c, &who,
	    connects[_i].environment, connects[_i].labels),
	    connects[_i].answer);
	hubconf_fini(&c);
}
END_TEST

START_TEST(test_rules)
{
	struct hubconf		 c = a_conf(rules);
	struct subject_is	 a = { .name = "token:a" };
	struct subject_is	 h = { .name = "jwt:h" };
	/* What would be a pattern is no name to fill in. */
	struct subject_is	 star = { .name = "jwt:*" };
	struct subject_is	 own = { .name = "token:z",
				    .may_register = "z-*",
				    .may_connect = "q,pool=z" };
	struct subject_limits	 max;
	struct hubconf		 any = a_conf("Match Executor all\n"
				    "MayRegister ${subject}\n");

	ck_assert_str_eq(hubrules_labels(&c, &a), "pool=a,zone=eu");
	ck_assert_str_eq(hubrules_labels(&c, &own), "pool=rest");
	hubrules_limits(&c, &a, true, &max);
	ck_assert_uint_eq(max.environments, 3);
	hubrules_limits(&c, &h, false, &max);
	ck_assert_uint_eq(max.streams, 5);
	ck_assert(max.may_list && max.environments == 0);
	ck_assert(hubrules_is_denied(&c, "token:evil1"));
	ck_assert(!hubrules_is_denied(&c, "token:good"));
	ck_assert(!hubrules_may_register(&any, &star, "anything"));
	ck_assert(hubrules_may_register(&any, &h, "h"));
	ck_assert(hubrules_may_register(&c, &own, "z-1"));
	ck_assert_int_eq(hubrules_may_connect(&c, &own, "q", NULL),
	    RULES_DEPENDS);
	ck_assert_int_eq(hubrules_may_connect(&c, &own, "r", "pool=z"),
	    RULES_YES);
	hubconf_fini(&c);
	hubconf_fini(&any);
}
END_TEST

/* Operators are who a rule names, for what it names, and nobody else. */
START_TEST(test_operators)
{
	char			 ops[] = "ops", *groups[] = { ops };
	struct subject_is	 a = { .name = "token:a",
				    .may_connect = "*" };
	struct subject_is	 b = { .name = "jwt:b", .group = groups,
				    .ngroup = 1 };
	struct subject_limits	 may;
	struct hubconf		 c = a_conf("Match Harness token:a\n"
				    "MayConnect *\nMayList yes\n"
				    "Match Harness group:ops\n"
				    "MayOperate !z-*,pool=x,${subject}-*\n"
				    "MayOperateHubs yes\n");

	hubrules_limits(&c, &a, false, &may);
	ck_assert(!may.operates && !may.operates_hubs);
	ck_assert(!hubrules_may_operate(&c, &a, "e", "pool=x"));
	hubrules_limits(&c, &b, false, &may);
	ck_assert(may.operates && may.operates_hubs && !may.may_list);
	ck_assert(hubrules_may_operate(&c, &b, "e", "pool=x"));
	ck_assert(hubrules_may_operate(&c, &b, "b-1", ""));
	ck_assert(!hubrules_may_operate(&c, &b, "a-1", ""));
	ck_assert(!hubrules_may_operate(&c, &b, "z-1", "pool=x"));
	hubconf_fini(&c);
}
END_TEST

START_TEST(test_environment)
{
	static const struct {
		const char	*id;
		bool		 is;
	} rows[] = {
		{ "a", true }, { "build-1_x.y~z:8@h+", true }, { "", false },
		{ ".", false }, { "..", false }, { "...", true },
		{ "a/b", false }, { "a b", false }, { "a,b", false },
		{ "a=b", false }, { "a*", false }, { "a?", false },
		{ "!a", false }, { "a\n", false }, { "\xc3\xa4", false },
		{ "a\"", false }, { "%41", false },
	};
	char	 longest[ENVIRONMENT_MAX + 1];
	int	 i;

	for (i = 0; i < N(rows); i++)
		ck_assert_msg(environment_is_valid(spanned(rows[i].id)) ==
		    rows[i].is, "%s", rows[i].id);
	memset(longest, 'a', sizeof(longest));
	ck_assert(environment_is_valid((struct span){ longest,
	    ENVIRONMENT_MAX }));
	ck_assert(!environment_is_valid((struct span){ longest,
	    ENVIRONMENT_MAX + 1 }));
}
END_TEST

/* --- tokens --- */

START_TEST(test_tokens)
{
	char			 text[] = "# none\n\n"
	    "one sha256:"
	    "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	    " connect=a,b register=x-* expires=1800000000\n"
	    "two sha256:"
	    "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
	    "\n";
	struct hubtokens	 t;
	struct conf_error	 e;
	const struct hubtoken	*one;

	ck_assert_msg(hubtokens_parse(&t, "/t", text, strlen(text), &e) == 0,
	    "%s", e.text);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_ptr_nonnull(one = hubtokens_find(&t, spanned("foo")));
	ck_assert_str_eq(one->name, "one");
	ck_assert_str_eq(one->may_connect, "a,b");
	ck_assert_str_eq(one->may_register, "x-*");
	ck_assert_uint_eq(one->expires, 1800000000);
	ck_assert_str_eq(hubtokens_find(&t, spanned("bar"))->name, "two");
	ck_assert_ptr_null(hubtokens_find(&t, spanned("baz")));
	ck_assert_ptr_null(hubtokens_find(&t, spanned("")));
	ck_assert_ptr_eq(hubtokens_named(&t, "one"), one);
	ck_assert_ptr_null(hubtokens_named(&t, "three"));
	hubtokens_fini(&t);
}
END_TEST

#define SHA	"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0"\
		"f98a5e886266e7ae"

static const struct {
	const char	*line, *why;	/* NULL: it is good */
} token_lines[] = {
	{ "a " SHA " expires=0", NULL },
	{ "a " SHA " expires=999999999999", NULL },
	{ "a " SHA " expires=", "expires=: expected Unix seconds" },
	{ "a " SHA " expires=-1", "expires=: expected Unix seconds" },
	{ "a " SHA " expires=+1", "expires=: expected Unix seconds" },
	{ "a " SHA " expires=:", "expires=: expected Unix seconds" },
	{ "a " SHA " expires=1x", "expires=: expected Unix seconds" },
	{ "a " SHA " expires=0x1", "expires=: expected Unix seconds" },
	{ "a " SHA " expires=99999999999999999999",
	    "expires=: expected Unix seconds" },
	{ "a " SHA " expires", "\"expires\" is none of register=, connect=, "
	    "expires=" },
	{ "a " SHA " expire=1", "\"expire\" is none of register=, connect=, "
	    "expires=" },
	{ "a " SHA " connect=a connect=b", "connect twice" },
	{ "a " SHA " register=a register=b", "register twice" },
	{ "a " SHA " register=a,", "register: bad patterns \"a,\"" },
	{ "a " SHA " connect=", "connect: bad patterns \"\"" },
	{ "a " SHA " connect=!a", "connect: bad patterns \"!a\"" },
	{ "a " SHA " register=${subject}",
	    "register: nothing is filled in: \"${subject}\"" },
};

START_TEST(test_token_lines)
{
	struct hubtokens	 t;
	struct conf_error	 e;
	char			 text[300];
	int			 r;

	snprintf(text, sizeof(text), "%s\n", token_lines[_i].line);
	memset(&e, 0, sizeof(e));
	r = hubtokens_parse(&t, "/t", text, strlen(text), &e);
	ck_assert_int_eq(r, token_lines[_i].why == NULL ? 0 : -1);
	ck_assert_msg(strstr(e.text, token_lines[_i].why == NULL ? "" :
	    token_lines[_i].why) != NULL, "%s", e.text);
	if (r == 0)
		hubtokens_fini(&t);
}
END_TEST

/* --- subjects, tickets that are used --- */

START_TEST(test_subject)
{
	struct subjects	 all;
	struct subject	*s, *same;
	unsigned	 i;

	subjects_init(&all);
	s = subject_ref(&all, "token:a");
	same = subject_ref(&all, "token:a");
	ck_assert_ptr_eq(s, same);
	for (i = 0; i < 20; i++)
		ck_assert_uint_eq(subject_ask(s, 2, 1000), 0);
	ck_assert_uint_eq(subject_ask(s, 2, 1000), 1);
	ck_assert_uint_eq(subject_ask(s, 2, 1499), 1);
	ck_assert_uint_eq(subject_ask(s, 2, 1501), 0);
	ck_assert_uint_eq(subject_ask(s, 2, 1501), 1);
	ck_assert_uint_eq(subject_send(s, 0, 1 << 30, 1000), 0);
	ck_assert_uint_eq(subject_send(s, 1000, 1000, 1000), 0);
	ck_assert_uint_eq(subject_send(s, 1000, 500, 1000), 501);
	ck_assert_uint_eq(subject_send(s, 1000, 0, 1501), 0);
	ck_assert_uint_eq(subject_room(s, 1000, 1511), 11);
	ck_assert_uint_eq(subject_send(s, 1000, 11, 1511), 0);
	ck_assert_uint_eq(subject_room(s, 1000, 1511), 0);
	ck_assert_uint_gt(subject_send(s, 1000, 10, 1511), 0);
	ck_assert_uint_eq(subject_send(s, 1000, -10, 1511), 0);
	ck_assert_uint_eq(subject_room(s, 1000, 99999), 1000);
	subject_unref(&s);
	ck_assert_uint_eq(subjects_sweep(&all, 1000000), 0);
	subject_unref(&same);
	ck_assert_uint_eq(subjects_sweep(&all, 2000), 0);
	ck_assert_uint_eq(subjects_sweep(&all, 1000000), 1);
	subjects_fini(&all);
}
END_TEST

START_TEST(test_replay)
{
	static const uint8_t	 a[TICKET_NONCE_LEN] = { 1 };
	static const uint8_t	 b[TICKET_NONCE_LEN] = { 2 };
	struct replay		 r;

	replay_init(&r);
	ck_assert(replay_take(&r, a, NOW + 10, NOW));
	ck_assert(!replay_take(&r, a, NOW + 10, NOW));
	ck_assert(replay_has(&r, a) && !replay_has(&r, b));
	ck_assert(replay_take(&r, b, NOW + 20, NOW + 10));
	ck_assert(!replay_take(&r, a, NOW + 20, NOW + 10));
	ck_assert(replay_take(&r, a, NOW + 20, NOW + 11));
	replay_fini(&r);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("hub");
	TCase	*t = tcase_create("pure");
	SRunner	*sr;
	int	 failed;

	if (sodium_init() == -1)
		return EXIT_FAILURE;
	tcase_add_loop_test(t, test_ticket, 0, TICKET_ROLES);
	tcase_add_test(t, test_ticket_longest);
	tcase_add_test(t, test_ticket_forged);
	tcase_add_test(t, test_ticket_times);
	tcase_add_test(t, test_ticket_secrets);
	tcase_add_test(t, test_registration);
	tcase_add_loop_test(t, test_relayhead, 0, N(heads));
	tcase_add_loop_test(t, test_relayhead_reset, 0, 5);
	tcase_add_loop_test(t, test_relayhead_plain, 0, N(resets));
	tcase_add_loop_test(t, test_relayhead_flow, 0, 3);
	tcase_add_test(t, test_proxyv2);
	tcase_add_loop_test(t, test_register, 0, N(registers));
	tcase_add_loop_test(t, test_connect, 0, N(connects));
	tcase_add_test(t, test_rules);
	tcase_add_test(t, test_operators);
	tcase_add_test(t, test_environment);
	tcase_add_test(t, test_tokens);
	tcase_add_loop_test(t, test_token_lines, 0,
	    sizeof(token_lines) / sizeof(token_lines[0]));
	tcase_add_test(t, test_subject);
	tcase_add_test(t, test_replay);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
