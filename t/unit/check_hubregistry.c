/*
 * master/hub/hubregistry.c: who gets which ticket, and who is told what if not.
 * Rules, executors, other hubs and answers are ours; tickets are real ones.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubfleet.h"
#include "master/hub/hubregistry.h"
#include "t/unit/did_help.h"

#define ID	"env-1"

static struct ticket_keys	 keys;
static struct site		 site;
static struct engine		 engine;
static struct hub		 hub;
static struct door		 door;
static struct executor		 x;
static struct subject		 owner;
static struct call		 c;
static struct hubkey		 key;
static bool			 may_register, has_key, is_there, recalled;
static enum hubrules_answer	 by_name, by_labels;
static struct subject_limits	 max;
static struct hubfleet_asked	 asked;
static char			 url[TICKET_MAX + 512];
static char			 authorization[TICKET_MAX + 1];
static char			 fleet[] = "https://fleet";

/* --- in the place of others --- */

void
call_refuse(struct call *call, enum hub_stat stat, int status,
    const char *lines, const char *code, const char *message)
{
	(void)stat;
	ck_assert_ptr_nonnull(message);
	did("%d %s%s", status, code, lines != NULL ? " later" : "");
	call->door = NULL;
}

void
call_malformed(struct call *call, const char *message)
{
	(void)message;
	did("malformed");
	call->door = NULL;
}

void
call_not_found(struct call *call)
{
	did("not found");
	call->door = NULL;
}

void
call_offline(struct call *call)
{
	did("offline");
	call->door = NULL;
}

void
call_unknown(struct call *call)
{
	did("unknown");
	call->door = NULL;
}

bool
call_take_key(const struct call *call, const char *member,
    struct hubkey *out)
{
	(void)call;
	*out = key;
	return has_key && strstr(member, "_public_key") != NULL;
}

bool
call_text_is(const struct call *call, const char *member, const char *text)
{
	uint32_t	 i = json_find(&call->json, 0, member);

	return i != 0 && json_is_text(&call->json, i, text);
}

bool
call_same_key(const struct hubkey *a, const struct hubkey *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void
call_probe(struct call *call, struct executor *other)
{
	ck_assert_ptr_eq(other, &x);
	did("probe");
	call->door = NULL;
}

void
call_put_key(struct json_out *o, const char *member, const struct hubkey *k)
{
	ck_assert(call_same_key(k, &x.key));
	json_out_pair(o, member, "KEY");
}

/* Keep what the answer says. */
void
call_answer(struct call *call, struct json_out *o, struct buf *b)
{
	struct json	 j;
	uint32_t	 i;

	ck_assert_int_eq(json_out_fini(o), 0);
	json_init(&j);
	ck_assert_int_eq(json_parse(&j, (char *)buf_data(b), b->len), 0);
	i = json_find(&j, 0, "url");
	snprintf(url, sizeof(url), "%.*s", (int)json_tok(&j, i)->len,
	    json_text(&j, i));
	i = json_find(&j, 0, "harness_key_authorization");
	if (i != 0)
		snprintf(authorization, sizeof(authorization), "%.*s",
		    (int)json_tok(&j, i)->len, json_text(&j, i));
	ck_assert(json_is_text(&j, json_find(&j, 0, "environment_id"), ID));
	json_fini(&j);
	buf_fini(b);
	did("granted");
	call->door = NULL;
}

void
door_answer(struct door **dp, int status, const char *lines,
    const char *type, const void *body, size_t len)
{
	(void)lines;
	(void)type;
	ck_assert(*dp == &door && status == 200);
	ck_assert_uint_eq(strlen(body), len);
	did("%s", (const char *)body);
	*dp = NULL;
}

bool
hubrules_may_register(const struct hubconf *conf,
    const struct subject_is *who, const char *environment)
{
	ck_assert(conf == &site.conf && who == &c.who.is);
	ck_assert_str_eq(environment, ID);
	return may_register;
}

enum hubrules_answer
hubrules_may_connect(const struct hubconf *conf,
    const struct subject_is *who, const char *environment,
    const char *labels)
{
	ck_assert(conf == &site.conf && who != NULL);
	ck_assert_str_eq(environment, ID);
	if (labels == NULL)
		return by_name;
	ck_assert_str_eq(labels, "a=b");
	return by_labels;
}

void
hubrules_limits(const struct hubconf *conf, const struct subject_is *who,
    bool is_executor, struct subject_limits *out)
{
	(void)who;
	(void)is_executor;
	ck_assert_ptr_eq(conf, &site.conf);
	*out = max;
}

const char *
hubrules_labels(const struct hubconf *conf, const struct subject_is *who)
{
	(void)conf;
	(void)who;
	return "a=b";
}

struct executor *
switchboard_find(const struct switchboard *b, const char *environment)
{
	ck_assert_ptr_eq(b, &hub.board);
	ck_assert_str_eq(environment, ID);
	return is_there ? &x : NULL;
}

void
hubfleet_place(const struct hub *h, const struct executor *there,
    struct engine_place *out)
{
	ck_assert(h == &hub && there == &x);
	memset(out, 0, sizeof(*out));
	out->hub_url = "https://here";
	out->labels = "a=b";
	memcpy(out->registration, x.registration, sizeof(out->registration));
	out->key = x.key;
}

void
hubfleet_ask_key(struct call *call, const struct hubkey *k)
{
	ck_assert(call_same_key(k, &key));
	did("ask key");
	call->door = NULL;
}

void
hubfleet_where(struct call *call, const struct hubkey *harness,
    const struct ticket *ticket, void (*fn)(struct hubfleet_asked *a,
    enum engine_answer answer, const struct engine_place *p))
{
	ck_assert_ptr_null(ticket);
	did("where");
	memset(&asked, 0, sizeof(asked));
	asked.hub = call->hub;
	asked.door = call->door;
	asked.harness = *harness;
	asked.fn = fn;
	strcpy(asked.environment, call->environment);
	strcpy(asked.subject, call->who.name);
	call->door = NULL;
}

bool
site_recall(const struct site *s, const char *name, uint64_t now,
    struct identity *out)
{
	ck_assert_ptr_eq(s, &site);
	ck_assert_str_eq(name, "token:me");
	ck_assert_uint_gt(now, 1000000000);
	strcpy(out->name, name);
	return recalled;
}

void
hubaudit(struct hub *h, const char *event, const struct hubaudit_item *items)
{
	ck_assert_ptr_eq(h, &hub);
	ck_assert_str_eq(items[0].text, "token:me");
	did("%s", event);
}

/* --- a request --- */

static void
ask(void (*fn)(struct call *), const char *body)
{
	static char	 room[3000];

	snprintf(room, sizeof(room), "%s", body);
	json_fini(&c.json);
	json_init(&c.json);
	ck_assert_int_eq(json_parse(&c.json, room, strlen(room)), 0);
	c.door = &door;
	fn(&c);
	ck_assert_ptr_null(c.door);
}

#define REGISTER	"{\"security_profile\":\"" HUBCALL_PROFILE "\"}"

static void
setup(void)
{
	uint8_t	 secret[TICKET_SECRET_MIN];

	memset(secret, 's', sizeof(secret));
	memset(&keys, 0, sizeof(keys));
	ck_assert_int_eq(ticket_keys_add(&keys, secret, sizeof(secret)), 0);
	memset(&hub, 0, sizeof(hub));
	memset(&site, 0, sizeof(site));
	memset(&c, 0, sizeof(c));
	memset(&x, 0, sizeof(x));
	memset(&key, 'k', sizeof(key));
	memset(&engine, 0, sizeof(engine));
	memset(&max, 0, sizeof(max));
	memset(&owner, 0, sizeof(owner));
	site.keys = &keys;
	site.conf.fleet_url = fleet;
	site.conf.ticket_lifetime = 90 * 1000;
	hub.site = &site;
	hub.engine = &engine;
	subjects_init(&hub.subjects);
	json_init(&c.json);
	c.hub = &hub;
	strcpy(c.environment, ID);
	strcpy(c.who.name, "token:me");
	x.key = key;
	x.subject = &owner;
	strcpy(owner.name, "token:me");
	memset(x.registration, 'r', sizeof(x.registration));
	may_register = has_key = recalled = true;
	is_there = false;
	by_name = by_labels = RULES_YES;
	did_forget();
	url[0] = '\0';
}

static void
teardown(void)
{
	json_fini(&c.json);
	subjects_fini(&hub.subjects);
}

/* Read the ticket in the URL; how many seconds it is good. */
static uint64_t
ticket_of(enum ticket_role role, const char *place, struct ticket *t)
{
	char		 begin[100];
	struct span	 text;

	snprintf(begin, sizeof(begin), "%s" HUBCALL_ATTACH ID "?ticket=",
	    place);
	ck_assert_int_eq(strncmp(url, begin, strlen(begin)), 0);
	text = (struct span){ url + strlen(begin),
	    strlen(url) - strlen(begin) };
	ck_assert_int_eq(ticket_read(&keys, role, ID, text,
	    (uint64_t)time(NULL), 5, t), TICKET_GOOD);
	ck_assert_str_eq(t->subject, "token:me");
	return t->until - t->made;
}

/* --- register --- */

START_TEST(test_register)
{
	struct ticket	 t;

	max.environments = _i == 0 ? 7 : 1ULL << 40;
	ask(call_register, REGISTER);
	ck_did("register; granted");
	ck_assert_uint_eq(ticket_of(TICKET_EXECUTOR, "wss://fleet", &t), 90);
	ck_assert_uint_eq(t.limit, _i == 0 ? 7 : UINT32_MAX);
	ck_assert_str_eq(t.labels, "a=b");
	ck_assert(call_same_key(&t.key, &key));
	ck_assert_uint_eq(hub.stat[HUBSTAT_registers], 1);
}
END_TEST

START_TEST(test_register_refused)
{
	may_register = _i != 0;
	has_key = _i != 1;
	ask(call_register, _i == 2 ? "{}" : REGISTER);
	ck_did(_i == 0 ? "403 not_allowed" : "malformed");
}
END_TEST

/* Another key may be a thief's: whoever has it lives, or not. */
START_TEST(test_register_other_key)
{
	is_there = true;
	x.key.kem[HUBKEY_KEM_LEN - 1] ^= 1;
	ask(call_register, REGISTER);
	ck_did("probe");
	c.probe = ALIVE;
	ask(call_register, REGISTER);
	ck_did("503 registration_conflict later");
	c.probe = DEAD;
	ask(call_register, REGISTER);
	ck_did("register; granted");
	/* With the same key it is the same one, which comes back. */
	x.key = key;
	c.probe = UNKNOWN;
	ask(call_register, REGISTER);
	ck_did("register; granted");
}
END_TEST

START_TEST(test_register_shared)
{
	engine.is_shared = true;
	ask(call_register, REGISTER);
	ck_did("ask key");
	c.probe = ALIVE;
	ask(call_register, REGISTER);
	ck_did("503 registration_conflict later");
	c.probe = DEAD;
	ask(call_register, REGISTER);
	ck_did("register; granted");
	c.probe = UNKNOWN;
	is_there = true;
	ask(call_register, REGISTER);
	ck_did("register; granted");
}
END_TEST

/* Who has as many as it may gets only its own again. */
START_TEST(test_register_room)
{
	struct subject	*me = subject_ref(&hub.subjects, "token:me");

	max.environments = 3;
	me->executors = 2;
	ask(call_register, REGISTER);
	ck_did("register; granted");
	me->executors = 3;
	ask(call_register, REGISTER);
	ck_did("429 too_many_environments later");
	is_there = true;
	ask(call_register, REGISTER);
	ck_did("register; granted");
	strcpy(owner.name, "token:other");
	ask(call_register, REGISTER);
	ck_did("429 too_many_environments later");
	max.environments = 0;
	ask(call_register, REGISTER);
	ck_did("register; granted");
	ck_assert_uint_eq(me->refs, 1);
	me->executors = 0;
	subject_unref(&me);
}
END_TEST

/* The later registration counts, also when the clock does not go on. */
START_TEST(test_register_moments)
{
	struct ticket	 a, b;

	ask(call_register, REGISTER);
	ticket_of(TICKET_EXECUTOR, "wss://fleet", &a);
	hub.registered += 3600 * 1000;
	ask(call_register, REGISTER);
	ticket_of(TICKET_EXECUTOR, "wss://fleet", &b);
	ck_assert_int_lt(memcmp(a.registration, b.registration, 8), 0);
	ask(call_register, REGISTER);
	ticket_of(TICKET_EXECUTOR, "wss://fleet", &a);
	ck_assert_int_lt(memcmp(b.registration, a.registration, 8), 0);
}
END_TEST

/* --- connect --- */

START_TEST(test_connect)
{
	struct ticket	 t;
	uint8_t		 hash[HUBKEY_HASH_LEN];
	uint64_t	 until;

	is_there = true;
	max.streams = 9;
	max.rate = _i == 0 ? 1 : _i == 1 ? 1024 : 1025;
	ask(call_connect, "{}");
	ck_did("connect; granted");
	ck_assert_uint_eq(ticket_of(TICKET_HARNESS, "wss://here", &t), 60);
	hubkey_hash(&key, hash);
	ck_assert_mem_eq(t.harness, hash, sizeof(hash));
	ck_assert_mem_eq(t.registration, x.registration, REGISTRATION_LEN);
	ck_assert_uint_eq(t.limit, 9);
	ck_assert_uint_eq(t.rate, _i == 2 ? 2 : 1);
	until = t.until;
	ck_assert_int_eq(ticket_read(&keys, TICKET_AUTHORIZATION, ID,
	    (struct span){ authorization, strlen(authorization) },
	    (uint64_t)time(NULL), 5, &t), TICKET_GOOD);
	ck_assert_uint_eq(t.until, until + 60);
	ck_assert_uint_eq(hub.stat[HUBSTAT_connects], 1);
}
END_TEST

/* What is not there and what is not the caller's look the same. */
static const struct {
	bool			 is_there;
	enum hubrules_answer	 by_name, by_labels;
	const char		*did;
} connects[] = {
	{ false, RULES_NO, RULES_YES, "not found" },
	{ true, RULES_NO, RULES_YES, "not found" },
	{ false, RULES_YES, RULES_YES, "offline" },
	{ false, RULES_DEPENDS, RULES_YES, "offline" },
	{ true, RULES_DEPENDS, RULES_NO, "offline" },
	{ true, RULES_DEPENDS, RULES_DEPENDS, "offline" },
	{ true, RULES_YES, RULES_NO, "not found" },
	{ true, RULES_DEPENDS, RULES_YES, "connect; granted" },
};

START_TEST(test_connect_refused)
{
	is_there = connects[_i].is_there;
	by_name = connects[_i].by_name;
	by_labels = connects[_i].by_labels;
	ask(call_connect, "{}");
	ck_did(connects[_i].did);
	has_key = false;
	ask(call_connect, "{}");
	ck_did("malformed");
}
END_TEST

START_TEST(test_connect_there)
{
	struct engine_place	 p;
	struct ticket		 t;

	engine.is_shared = true;
	by_name = RULES_NO;
	ask(call_connect, "{}");
	ck_did("not found");
	by_name = RULES_YES;
	ask(call_connect, "{}");
	ck_did("where");
	asked.fn(&asked, ENGINE_DOWN, NULL);
	ck_did("unknown");
	asked.fn(&asked, ENGINE_NOBODY, NULL);
	ck_did("offline");
	ck_assert_uint_eq(hub.stat[HUBSTAT_redirects], 0);
	hubfleet_place(&hub, &x, &p);
	p.hub_url = "http://there";
	asked.fn(&asked, ENGINE_FOUND, &p);
	ck_did("connect; granted");
	ticket_of(TICKET_HARNESS, "ws://there", &t);
	ck_assert_uint_eq(hub.stat[HUBSTAT_redirects], 1);
	p.hub_url = "";
	asked.fn(&asked, ENGINE_FOUND, &p);
	ck_did("connect; granted");
	ticket_of(TICKET_HARNESS, "wss://fleet", &t);
	/* It has come here meanwhile. */
	is_there = true;
	asked.fn(&asked, ENGINE_DOWN, NULL);
	ck_did("connect; granted");
	ticket_of(TICKET_HARNESS, "wss://here", &t);
	ck_assert_uint_eq(hub.stat[HUBSTAT_redirects], 2);
	recalled = false;
	asked.fn(&asked, ENGINE_FOUND, &p);
	ck_did("not found");
}
END_TEST

/* --- validate --- */

/* What an executor shows of a harness. */
static void
validate(const char *shown, const char *registration)
{
	char	 body[TICKET_MAX + 200];

	snprintf(body, sizeof(body), "{\"harness_key_authorization\":\"%s\","
	    "\"executor_registration_id\":\"%s\"}", shown, registration);
	ask(call_validate, body);
}

START_TEST(test_validate)
{
	char	 id[REGISTRATION_TEXT + 1], harness[TICKET_MAX + 1];

	is_there = true;
	ask(call_connect, "{}");
	did_forget();
	snprintf(harness, sizeof(harness), "%s",
	    strstr(url, "ticket=") + strlen("ticket="));
	registration_text(x.registration, id);
	validate(authorization, id);
	ck_did("{\"valid\":true}");
	ck_assert_uint_eq(hub.stat[HUBSTAT_validates], 1);
	/* A ticket of another kind, another registration, none. */
	validate(harness, id);
	ck_did("{\"valid\":false}");
	id[0] ^= 1;
	validate(authorization, id);
	ck_did("{\"valid\":false}");
	id[0] ^= 1;
	ask(call_validate, "{\"harness_key_authorization\":1}");
	ck_did("{\"valid\":false}");
	/* Of another environment, of another key, of who was revoked. */
	key.dh[0] ^= 1;
	validate(authorization, id);
	ck_did("{\"valid\":false}");
	key.dh[0] ^= 1;
	recalled = false;
	validate(authorization, id);
	ck_did("{\"valid\":false}");
	ck_assert_uint_eq(hub.stat[HUBSTAT_invalids], 5);
	ck_assert_uint_eq(hub.stat[HUBSTAT_validates], 1);
	has_key = false;
	validate(authorization, id);
	ck_did("malformed");
	may_register = false;
	validate(authorization, id);
	ck_did("403 not_allowed");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("hubregistry");
	TCase	*t = tcase_create("hubregistry");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_register, 0, 2);
	tcase_add_loop_test(t, test_register_refused, 0, 3);
	tcase_add_test(t, test_register_other_key);
	tcase_add_test(t, test_register_shared);
	tcase_add_test(t, test_register_room);
	tcase_add_test(t, test_register_moments);
	tcase_add_loop_test(t, test_connect, 0, 3);
	tcase_add_loop_test(t, test_connect_refused, 0,
	    sizeof(connects) / sizeof(connects[0]));
	tcase_add_test(t, test_connect_there);
	tcase_add_test(t, test_validate);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
