/*
 * master/hub/hubapi.c and hubcall.c: what a request to a hub is answered, word
 * by word, and what of it is counted and in the audit log.  The door, the
 * executors, tokens and other hubs are ours; tickets, rules, penalties and
 * rates are real.
 * lint-ok: what stands in the place of others is needed by all of it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/json/b64.h"
#include "common/limit.h"
#include "master/hub/hubapi.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubfar.h"
#include "master/hub/hubfleet.h"
#include "master/hub/hubmetrics.h"
#include "master/hub/hubregistry.h"
#include "t/unit/did_help.h"

#define ID	"env-1"
#define ATTACH	HUBCALL_ATTACH ID "?ticket="
#define GUESS	"guess"			/* tokens: a wrong one, ... */
#define STALE	"stale"
#define GOOD	"good"

static struct ticket_keys	 keys;
static struct site		 site;
static struct engine		 engine;
static struct hub		 hub;
static struct door		 door;
static struct executor		 x;
static struct harness		 harness;
static struct hubfleet_asked	 asked;
static char			 said[300], fleet[] = "https://f:1/p",
				 own_url[64], auth[64],
				 target[TICKET_MAX + 99];
static bool			 is_there, may_register, is_revoked, is_up,
				 has_metrics, is_sent_on, has_room;
static uint64_t			 upgraded;
static void			 (*on_probe)(void *arg, enum probe probe);
static void			*probe_arg;

/* The line of the audit log on the last refusal. */
static void
ck_said(const char *what)
{
	ck_assert_str_eq(said, what);
	said[0] = '\0';
}

/* --- in the place of others --- */

void
door_answer(struct door **dp, int status, const char *lines,
    const char *type, const void *body, size_t len)
{
	ck_assert_ptr_eq(*dp, &door);
	did("%d %s%s %.*s", status, lines != NULL ? lines : "",
	    type != NULL ? type : "json", (int)len, (const char *)body);
	*dp = NULL;
}

void
door_error(struct door **dp, int status, const char *lines,
    const char *code, const char *message)
{
	char	 text[300];

	snprintf(text, sizeof(text), "%s: %s", code, message);
	door_answer(dp, status, lines, "error", text, strlen(text));
}

struct hubconn *
door_upgrade(struct door *d, struct span *rest_out)
{
	ck_assert_ptr_eq(d, &door);
	*rest_out = (struct span){ "rest", 4 };
	upgraded++;
	return (struct hubconn *)&upgraded;
}

void
door_free(struct door **dp)
{
	ck_assert_ptr_eq(*dp, &door);
	did("free");
	*dp = NULL;
}

void
door_wait(struct door *d, void (*fn)(void *arg), void *arg)
{
	d->cancel = fn;
	d->cancel_arg = arg;
}

void
hubconn_free(struct hubconn **cp)
{
	ck_assert_ptr_eq(*cp, (struct hubconn *)&upgraded);
	did("close");
	*cp = NULL;
}

void
hubprobe_start(struct hubprobe *p, struct hub *h, struct executor *other,
    void (*fn)(void *arg, enum probe probe), void *arg)
{
	(void)p;
	ck_assert(h == &hub && other == &x);
	did("probe");
	on_probe = fn;
	probe_arg = arg;
}

void
hubprobe_stop(struct hubprobe *p)
{
	(void)p;
	did("probed");
}

void
hubaudit(struct hub *h, const char *event, const struct hubaudit_item *items)
{
	ck_assert_ptr_eq(h, &hub);
	did("%s", event);
	for (; items->key != NULL; items++) {
		did("%s %s", items->key, items->text);
		ck_assert_uint_eq(items->n, 0);
	}
}

void
hubaudit_refused(struct hub *h, const char *what, const char *who,
    const char *environment, const char *address, const char *why)
{
	ck_assert_ptr_eq(h, &hub);
	snprintf(said, sizeof(said), "%s %s %s %s %s", what, who, environment,
	    address, why);
}

const char *
site_identify(const struct site *s, struct span token, uint64_t now,
    struct identity *out, bool *is_guess_out)
{
	ck_assert_ptr_eq(s, &site);
	ck_assert_uint_gt(now, 1000000000);
	*is_guess_out = span_is(token, GUESS);
	if (!span_is(token, GOOD))
		return "wrong";
	strcpy(out->name, "token:me");
	return NULL;
}

bool
site_recall(const struct site *s, const char *name, uint64_t now,
    struct identity *out)
{
	ck_assert_ptr_eq(s, &site);
	ck_assert_str_eq(name, "token:me");
	ck_assert_uint_gt(now, 1000000000);
	strcpy(out->name, name);
	out->is.name = out->name;
	out->is.may_register = may_register ? ID : NULL;
	return !is_revoked;
}

struct executor *
switchboard_find(const struct switchboard *b, const char *environment)
{
	ck_assert_ptr_eq(b, &hub.board);
	ck_assert_str_eq(environment, ID);
	return is_there ? &x : NULL;
}

static void
on_taken(const char *what, const struct subject *who, const char *address,
    struct hubconn **cp, struct span rest)
{
	ck_assert_str_eq(who->name, "token:me");
	ck_assert_ptr_eq(address, door.address);
	ck_assert(span_is(rest, "rest"));
	did("%s", what);
	if (has_room)
		*cp = NULL;
}

struct executor *
switchboard_attach(struct switchboard *b, const char *environment,
    const struct ticket *t, struct subject *who, const char *address,
    struct hubconn **cp, struct span rest)
{
	ck_assert(b == &hub.board && t->key.dh[0] == 'k');
	ck_assert_str_eq(environment, ID);
	on_taken("attach", who, address, cp, rest);
	return has_room ? &x : NULL;
}

struct harness *
switchboard_connect(struct executor *to, const struct ticket *t,
    struct subject *who, const char *address, struct hubconn **cp,
    struct span rest)
{
	ck_assert(to == &x && t->nonce[0] == 'n');
	on_taken("connect", who, address, cp, rest);
	return has_room ? &harness : NULL;
}

void
hubfleet_claim(struct call *c, const struct ticket *t)
{
	ck_assert(t->registration[0] == 'r' && c->again != NULL);
	did("claim");
	c->door = NULL;
}

void
hubfleet_where(struct call *c, const struct hubkey *key,
    const struct ticket *t, void (*fn)(struct hubfleet_asked *a,
    enum engine_answer answer, const struct engine_place *p))
{
	ck_assert_ptr_null(key);
	did("where");
	memset(&asked, 0, sizeof(asked));
	asked.hub = &hub;
	asked.door = c->door;
	asked.ticket = *t;
	asked.fn = fn;
	strcpy(asked.environment, c->environment);
	strcpy(asked.subject, c->who.name);
	c->door = NULL;
}

int
hubsplice_parse(struct hubsplice_to *to, const char *url)
{
	memset(to, 0, sizeof(*to));
	return *url != '\0' ? 0 : -1;
}

bool
hubsplice_is_sent_on(const struct door *d)
{
	ck_assert_ptr_eq(d, &door);
	return is_sent_on;
}

void
hubsplice_start(struct hubsplices *all, struct door **dp,
    const struct hubsplice_to *to, SSL_CTX *tls, const char *name)
{
	ck_assert(all == &hub.splices && *dp == &door && tls == NULL);
	did("splice %s %s", to->is_proxied ? "proxied" : "plain", name);
	*dp = NULL;
}

int
hubmetrics_put(const struct hub *h, struct buf *b)
{
	ck_assert_ptr_eq(h, &hub);
	return has_metrics ? buf_put(b, "figures", 7) : -1;
}

void
hubfar_open(struct call *c)
{
	did("%s %s", c->what, c->who.name);
	c->door = NULL;
}

/* It has found who it is, and a body. */
static void
on_registry(const char *name, struct call *c)
{
	ck_assert_str_eq(c->what, name);
	ck_assert_int_eq((int)json_tok(&c->json, 0)->type, JSON_OBJECT);
	did("%s %s; by %s", name, c->environment, c->who.name);
	c->door = NULL;
}

void
call_register(struct call *c)
{
	on_registry("register", c);
}

void
call_connect(struct call *c)
{
	on_registry("connect", c);
}

void
call_validate(struct call *c)
{
	on_registry("validate", c);
}

static bool
engine_is_up(const struct engine *e)
{
	ck_assert_ptr_eq(e, &engine);
	return is_up;
}

/* --- requests --- */

static struct span
span_of(const char *text)
{
	return (struct span){ text, strlen(text) };
}

static void
ask(const char *method, const char *path)
{
	snprintf(target, sizeof(target), "%s", path);
	door.is_asked = true;
	door.request.method = span_of(method);
	door.request.target = span_of(target);
	hubapi_request(&hub, &door);
}

static void
set_token(const char *token)
{
	snprintf(auth, sizeof(auth), "Bearer %s", token);
	door.request.auth = token != NULL ? span_of(auth) :
	    (struct span){ NULL, 0 };
}

/* Of all counters this one, n times; forget them. */
static void
ck_counted(enum hub_stat stat, uint64_t n)
{
	size_t	 i;

	for (i = 0; i < HUB_STATS; i++)
		ck_assert_uint_eq(hub.stat[i], i == stat ? n : 0);
	memset(hub.stat, 0, sizeof(hub.stat));
}
#define CK_COUNTED(name, n)	ck_counted(HUBSTAT_##name, n)
#define CK_REFUSED(name, n)	ck_counted(HUBWHY_##name, n)

static void
setup(void)
{
	static const struct engine_ops	 ops = { .is_up = engine_is_up };
	uint8_t				 secret[TICKET_SECRET_MIN];

	memset(secret, 's', sizeof(secret));
	memset(&keys, 0, sizeof(keys));
	ck_assert_int_eq(ticket_keys_add(&keys, secret, sizeof(secret)), 0);
	memset(&hub, 0, sizeof(hub));
	memset(&site, 0, sizeof(site));
	memset(&door, 0, sizeof(door));
	memset(&engine, 0, sizeof(engine));
	memset(&x, 0, sizeof(x));
	site.keys = &keys;
	site.conf.fleet_url = fleet;
	own_url[0] = '\0';
	site.conf.hub_url = own_url;
	site.conf.request_rate = 1000;
	site.conf.bearer_skew = 5000;
	hub.site = &site;
	hub.engine = &engine;
	engine.ops = &ops;
	ck_assert_ptr_nonnull(hub.penalties = penalties_new());
	subjects_init(&hub.subjects);
	replay_init(&hub.used);
	replay_init(&hub.evicted);
	strcpy(door.address, "192.0.2.1");
	door.request.is_upgrade = true;
	door.body = span_of("{}");
	set_token(GOOD);
	memset(x.registration, 'r', sizeof(x.registration));
	memset(&x.key, 'k', sizeof(x.key));
	may_register = is_up = has_metrics = has_room = true;
	is_there = is_revoked = is_sent_on = false;
	upgraded = 0;
	said[0] = '\0';
	did_forget();
}

static void
teardown(void)
{
	replay_fini(&hub.used);
	replay_fini(&hub.evicted);
	subjects_fini(&hub.subjects);
	penalties_free(&hub.penalties);
}

/* --- routes --- */

#define NOTHING	"404 error not_found: there is nothing here"
#define BAD	"400 error invalid_request: "
#define NO_ROUTE "404 x-codex-rendezvous-rejection-reason: unknown_route\r\n"\
		"error unknown_route: the upgrade is refused"
#define BAD_ID	BAD "an environment's id is 1 to 128 letters, digits or "\
		"-_.~:@+"
#define X16	"xxxxxxxxxxxxxxxx"
#define X128	X16 X16 X16 X16 X16 X16 X16 X16
#define REG	"/cloud/environment/"
#define LOGIN	"401 WWW-Authenticate: Bearer\r\nerror invalid_token: "\
		"the token is not valid"

static const struct {
	const char	*method, *path, *did;
} routes[] = {
	{ "GET", "/livez", "200 text/plain ok\n" },
	{ "HEAD", "/livez?a=b", "200 text/plain ok\n" },
	{ "POST", "/livez", NOTHING },
	{ "GET", "/livez/", NOTHING },
	{ "GET", "/", NOTHING },
	{ "GET", "/metrics", NOTHING },
	{ "GET", "/p/livez", "200 text/plain ok\n" },
	{ "GET", "/plivez", NOTHING },
	{ "GET", "/p", NOTHING },
	{ "GET", "/q/livez", NOTHING },
	{ "GET", HUBFAR_PATH, "control token:me" },
	{ "POST", REG "a/register", "register a; by token:me" },
	{ "POST", REG "a/connect", "connect a; by token:me" },
	{ "POST", "/p" REG "a/validate", "validate a; by token:me" },
	{ "POST", REG "a%2Db%3a%3A/register", "register a-b::; by token:me" },
	{ "POST", REG X128 "/register", "register " X128 "; by token:me" },
	{ "POST", REG X128 "x/register", BAD_ID },
	{ "POST", REG "/register", BAD_ID },
	{ "POST", REG "a%2/register", BAD_ID },
	{ "POST", REG "a%2G/register", BAD_ID },
	{ "POST", REG "a%/register", BAD_ID },
	{ "POST", REG "a%20b/register", BAD_ID },
	{ "POST", REG "a%00/register", BAD_ID },
	{ "POST", REG "register", BAD "there is nothing here" },
	{ "POST", REG "a/registers", NOTHING },
	{ "POST", REG "a/b/register", NOTHING },
	{ "GET", REG "a/register", "405 Allow: POST\r\nerror "
	    "method_not_allowed: POST is expected" },
	{ "GET", HUBCALL_ATTACH "a%", NO_ROUTE },
	{ "GET", HUBCALL_ATTACH "a?tick=1", NO_ROUTE },
	{ "POST", HUBCALL_ATTACH "a?ticket=1", NOTHING },
};

START_TEST(test_routes)
{
	ask(routes[_i].method, routes[_i].path);
	ck_did(routes[_i].did);
}
END_TEST

/* What is no route is counted, but not worth a line of the audit log. */
START_TEST(test_refused)
{
	ask("GET", "/");
	ask("GET", REG "a/register");
	did_forget();
	CK_REFUSED(malformed, 2);
	ck_said("");
	ask("POST", REG "%/register");
	ck_did(BAD_ID);
	CK_REFUSED(malformed, 1);
	ck_said("register  ? 192.0.2.1 invalid_request");
	door.request.is_upgrade = false;
	ask("GET", HUBCALL_ATTACH "a?ticket=1");
	ck_did(BAD "a websocket is expected here");
	CK_REFUSED(malformed, 1);
	ck_said("attach  a 192.0.2.1 invalid_request");
	door.request.has_origin = true;
	ask("GET", "/livez");
	ck_did("403 error not_allowed: browsers are not served");
	ask("POST", REG "a/register");
	ck_did("403 error not_allowed: browsers are not served");
	CK_REFUSED(malformed, 2);
}
END_TEST

START_TEST(test_ready)
{
	ask("GET", "/readyz");
	ck_did("200 text/plain ok\n");
	is_up = false;
	ask("GET", "/readyz");
	ck_did("200 text/plain no engine\n");
	hub.drain.is_on = true;
	ask("GET", "/readyz");
	ck_did("503 Retry-After: 1\r\ntext/plain draining\n");
	ask("GET", "/livez");
	ck_did("200 text/plain ok\n");
}
END_TEST

START_TEST(test_metrics)
{
	door.is_metrics = true;
	ask("GET", "/metrics");
	ck_did("200 " HUBMETRICS_TYPE " figures");
	has_metrics = false;
	ask("GET", "/metrics");
	ck_did("503 error unavailable: out of memory");
}
END_TEST

/* Below the path of the fleet, and of this hub. */
START_TEST(test_own_url)
{
	strcpy(own_url, "https://one.f/h");
	ask("GET", "/h/livez");
	ck_did("200 text/plain ok\n");
	ask("GET", "/p/livez");
	ck_did("200 text/plain ok\n");
	ask("GET", "/i/livez");
	ck_did(NOTHING);
}
END_TEST

/* --- who it is --- */

START_TEST(test_bodies)
{
	static const char	*const bad[] = { "", "[]", "{", "1",
				    "{\"\xff\":1}" };
	size_t			 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		door.body = span_of(bad[i]);
		ask("POST", REG "a/register");
		ck_did(BAD "the body is no JSON object");
		ck_said("register token:me a 192.0.2.1 invalid_request");
	}
	CK_REFUSED(malformed, i);
	/* First of all who it is. */
	set_token(STALE);
	ask("POST", REG "a/register");
	ck_did(LOGIN);
	ck_said("register  a 192.0.2.1 invalid_token");
	CK_REFUSED(token, 1);
}
END_TEST

/* None, or one that has expired, is no guess; a good token is taken always. */
START_TEST(test_tokens)
{
	unsigned	 i;

	door.request.auth = (struct span){ NULL, 0 };
	for (i = 0; i < 2 * LIMIT_FAILURES; i++)
		ask("GET", HUBFAR_PATH);
	set_token("");
	ask("GET", HUBFAR_PATH);
	set_token(STALE);
	ask("GET", HUBFAR_PATH);
	CK_REFUSED(token, i + 2);
	set_token(GUESS);
	for (i = 0; i < LIMIT_FAILURES; i++) {
		did_forget();
		ask("GET", HUBFAR_PATH);
		ck_did(LOGIN);
	}
	CK_REFUSED(token, i);
	ask("GET", HUBFAR_PATH);
	ck_did_begin("429 Retry-After: ");
	ck_said("control  " " 192.0.2.1 rate_limited");
	CK_REFUSED(penalty, 1);
	set_token(GOOD);
	ask("GET", HUBFAR_PATH);
	ck_did("control token:me");
	/* The address of a Unix socket is none: nobody is kept out by it. */
	door.address[0] = '\0';
	set_token(GUESS);
	for (i = 0; i < 2 * LIMIT_FAILURES; i++)
		ask("GET", HUBFAR_PATH);
	CK_REFUSED(token, i);
}
END_TEST

/* How long it has to wait, rounded up. */
START_TEST(test_penalty_seconds)
{
	struct call	 c = { .hub = &hub, .door = &door };
	char		 lines[HUBCALL_LINES], want[HUBCALL_LINES];
	uint64_t	 before, after;
	unsigned	 i;

	for (i = 0; i <= LIMIT_FAILURES; i++)
		call_add_penalty(&c, "wrong", true);
	before = penalties_left(hub.penalties, door.address, clock_ms());
	ck_assert(call_has_penalty(&c, lines));
	after = penalties_left(hub.penalties, door.address, clock_ms());
	snprintf(want, sizeof(want), "Retry-After: %llu\r\n",
	    (unsigned long long)(before + 999) / 1000);
	if ((before + 999) / 1000 == (after + 999) / 1000)
		ck_assert_str_eq(lines, want);
}
END_TEST

START_TEST(test_rate)
{
	struct subject	*me;
	unsigned	 i;

	site.conf.request_rate = 1;
	for (i = 0; i < 10; i++) {
		ask("POST", REG "a/connect");
		ck_did("connect a; by token:me");
	}
	ask("POST", REG "a/connect");
	ck_did("429 Retry-After: 1\r\nerror rate_limited: too many requests");
	ck_said("connect token:me a 192.0.2.1 rate_limited");
	CK_REFUSED(rate, 1);
	ck_assert_ptr_nonnull(me = subject_ref(&hub.subjects, "token:me"));
	ck_assert_uint_eq(me->refs, 1);
	subject_unref(&me);
}
END_TEST

/* --- the rendezvous: executors --- */

#define REJECTED(status, retry, why)					\
	#status " x-codex-rendezvous-rejection-reason: " why "\r\n" retry\
	"error " why ": the upgrade is refused"
#define RETRY	"Retry-After: 1\r\n"

/* Show a ticket that was made so many seconds ago. */
static void
attach(enum ticket_role role, const char *environment, int64_t age)
{
	struct ticket	 t;
	char		 text[sizeof(ATTACH) + TICKET_MAX + 20];
	uint64_t	 now = (uint64_t)time(NULL);

	memset(&t, 0, sizeof(t));
	t.made = now - (uint64_t)age;
	t.until = t.made + 60;
	strcpy(t.subject, "token:me");
	memset(t.registration, 'r', sizeof(t.registration));
	memset(&t.key, 'k', sizeof(t.key));
	memset(t.nonce, 'n', sizeof(t.nonce));
	t.limit = 2;
	strcpy(text, ATTACH);
	ticket_write(&keys, role, environment, &t, text + strlen(text));
	ask("GET", text);
}

static void
attach_executor(void)
{
	attach(TICKET_EXECUTOR, ID, 0);
}

START_TEST(test_attach)
{
	door.request.takes_flow = _i == 1;
	attach_executor();
	ck_did("attach; free");
	CK_COUNTED(attaches, 1);
	ck_assert(x.takes_flow == (_i == 1));
	ck_assert_uint_eq(upgraded, 1);
	has_room = false;
	attach_executor();
	ck_did("attach; close; free");
	CK_COUNTED(attaches, 0);
	subjects_sweep(&hub.subjects, UINT64_MAX / 2);
}
END_TEST

/* By whom, in which order. */
START_TEST(test_attach_refused)
{
	hub.drain.is_on = true;
	ck_assert(replay_take(&hub.evicted, (const uint8_t *)"rrrrrrrr",
	    UINT64_MAX / 2, 1));
	may_register = false;
	is_revoked = true;
	attach_executor();
	ck_did(REJECTED(403, "", "revoked"));
	ck_said("attach token:me " ID " 192.0.2.1 revoked");
	CK_REFUSED(token, 1);
	is_revoked = false;
	attach_executor();
	ck_did(REJECTED(503, RETRY, "pod_draining"));
	CK_REFUSED(draining, 1);
	hub.drain.is_on = false;
	attach_executor();
	ck_did(REJECTED(403, "", "evicted"));
	ck_said("attach token:me " ID " 192.0.2.1 evicted");
	CK_REFUSED(ticket, 1);
	replay_fini(&hub.evicted);
	replay_init(&hub.evicted);
	attach_executor();
	ck_did(REJECTED(403, "", "not_allowed"));
	CK_REFUSED(forbidden, 1);
	ck_assert_uint_eq(upgraded, 0);
}
END_TEST

/* Clocks may differ by so much. */
START_TEST(test_attach_tickets)
{
	unsigned	 i;

	attach(TICKET_EXECUTOR, ID, 64);
	ck_did("attach; free");
	attach(TICKET_EXECUTOR, ID, -4);
	ck_did("attach; free");
	CK_COUNTED(attaches, 2);
	attach(TICKET_EXECUTOR, ID, 67);
	ck_did(REJECTED(401, "", "expired"));
	CK_REFUSED(expired, 1);
	attach(TICKET_HARNESS, ID, 67);
	ck_did(REJECTED(401, "", "expired"));
	CK_REFUSED(expired, 1);
	attach(TICKET_EXECUTOR, ID, -60);
	ck_did_begin("401 ");
	CK_REFUSED(expired, 1);
	/* Whoever guesses has to wait; who has a ticket does not. */
	for (i = 0; i <= LIMIT_FAILURES; i++) {
		did_forget();
		attach(i % 2 == 0 ? TICKET_AUTHORIZATION : TICKET_EXECUTOR,
		    i % 2 == 0 ? ID : "env-2", 0);
		if (i < LIMIT_FAILURES)
			ck_did(REJECTED(403, "", "invalid_signature"));
	}
	ck_did(REJECTED(429, "", "rate_limited"));
	ck_assert_uint_eq(hub.stat[HUBWHY_penalty], 1);
	ck_assert_uint_eq(hub.stat[HUBWHY_ticket], LIMIT_FAILURES);
	attach_executor();
	ck_did("attach; free");
}
END_TEST

/* One with the same key comes back; another's lives, or not. */
START_TEST(test_attach_taken)
{
	is_there = true;
	attach_executor();
	ck_did("attach; free");
	ck_assert_uint_eq(hub.stat[HUBSTAT_takeovers], 1);
	memset(hub.stat, 0, sizeof(hub.stat));
	x.registration[REGISTRATION_LEN - 1]++;
	attach_executor();
	ck_did(REJECTED(409, "", "superseded"));
	CK_REFUSED(conflict, 1);
	x.key.kem[HUBKEY_KEM_LEN - 1] ^= 1;
	attach_executor();
	ck_did("probe");
	on_probe(probe_arg, ALIVE);
	ck_did("probed; " REJECTED(409, "", "registration_conflict"));
	CK_REFUSED(conflict, 1);
	attach_executor();
	on_probe(probe_arg, DEAD);
	ck_did("probe; probed; attach; free");
	ck_assert_ptr_null(door.cancel);
	/* The client leaves before that. */
	attach_executor();
	ck_assert_ptr_nonnull(door.cancel);
	door.cancel(door.cancel_arg);
	ck_did("probe; probed");
}
END_TEST

/* A request that is looked at again counts once. */
START_TEST(test_probe_again)
{
	struct call	 c = { .hub = &hub, .door = &door, .probe = DEAD };
	unsigned	 i;

	site.conf.request_rate = 1;
	for (i = 0; i < 20; i++)
		ck_assert(call_identify(&c));
	c.probe = UNKNOWN;
	for (i = 0; i < 10; i++)
		ck_assert(call_identify(&c));
	ck_assert(!call_identify(&c));
}
END_TEST

START_TEST(test_attach_shared)
{
	engine.is_shared = true;
	attach_executor();
	ck_did("claim");
	is_there = true;
	x.key.dh[0] ^= 1;
	attach_executor();
	on_probe(probe_arg, DEAD);
	ck_did("probe; probed; claim");
	attach_executor();
	on_probe(probe_arg, KEPT);
	ck_did("probe; probed; " REJECTED(409, "", "registration_conflict"));
	CK_REFUSED(conflict, 1);
	attach_executor();
	on_probe(probe_arg, CLAIMED);
	ck_did("probe; probed; attach; free");
}
END_TEST

/* As many as its ticket says, but it may come back. */
START_TEST(test_attach_room)
{
	struct subject	*me = subject_ref(&hub.subjects, "token:me");

	me->executors = 1;
	attach_executor();
	ck_did("attach; free");
	me->executors = 2;
	memset(hub.stat, 0, sizeof(hub.stat));
	attach_executor();
	ck_did(REJECTED(409, "", "too_many_environments"));
	CK_REFUSED(limit, 1);
	is_there = true;
	attach_executor();
	ck_did("attach; free");
	ck_assert_uint_eq(me->refs, 1);
	me->executors = 0;
	subject_unref(&me);
}
END_TEST

/* --- the rendezvous: harnesses --- */

static void
attach_harness(void)
{
	attach(TICKET_HARNESS, ID, 0);
}

static void
forget_used(void)
{
	replay_fini(&hub.used);
	replay_init(&hub.used);
}

START_TEST(test_harness)
{
	is_there = true;
	x.nharness = LIMIT_STREAMS - 1;
	attach_harness();
	ck_did("connect; free");
	CK_COUNTED(harnesses, 1);
	attach_harness();
	ck_did(REJECTED(403, "", "already_used"));
	CK_REFUSED(ticket, 1);
	forget_used();
	has_room = false;
	attach_harness();
	ck_did("connect; close; free");
	CK_COUNTED(harnesses, 0);
	x.nharness = LIMIT_STREAMS;
	attach_harness();
	ck_did(REJECTED(429, "", "too_many_streams"));
	CK_REFUSED(limit, 1);
	x.registration[0] ^= 1;
	attach_harness();
	ck_did(REJECTED(409, "", "environment_offline"));
	CK_REFUSED(offline, 1);
	is_there = false;
	attach_harness();
	ck_did(REJECTED(409, "", "environment_offline"));
}
END_TEST

START_TEST(test_harness_room)
{
	struct subject	*me = subject_ref(&hub.subjects, "token:me");

	is_there = true;
	me->harnesses = 1;
	attach_harness();
	ck_did("connect; free");
	forget_used();
	me->harnesses = 2;
	memset(hub.stat, 0, sizeof(hub.stat));
	attach_harness();
	ck_did(REJECTED(429, "", "too_many_streams"));
	CK_REFUSED(limit, 1);
	ck_assert_uint_eq(me->refs, 1);
	me->harnesses = 0;
	subject_unref(&me);
}
END_TEST

/* Its executor is at another hub, which is asked once. */
START_TEST(test_harness_there)
{
	struct engine_place	 p = { .internal_url = "https://192.0.2.9:1",
				    .is_proxied = _i == 1 };

	engine.is_shared = true;
	attach_harness();
	ck_did("where");
	memset(p.registration, 'r', sizeof(p.registration));
	asked.fn(&asked, ENGINE_FOUND, &p);
	ck_did(_i == 1 ? "splice; subject token:me; environment " ID
	    "; address 192.0.2.1; to https://192.0.2.9:1; splice proxied f" :
	    "splice; subject token:me; environment " ID
	    "; address 192.0.2.1; to https://192.0.2.9:1; splice plain f");
	CK_COUNTED(splices, 1);
	asked.fn(&asked, ENGINE_DOWN, NULL);
	ck_did(REJECTED(503, RETRY, "unavailable"));
	ck_said("attach token:me " ID " 192.0.2.1 unavailable");
	CK_REFUSED(engine, 1);
	asked.fn(&asked, ENGINE_NOBODY, NULL);
	ck_did(REJECTED(409, "", "environment_offline"));
	p.registration[0] ^= 1;
	asked.fn(&asked, ENGINE_FOUND, &p);
	ck_did(REJECTED(409, "", "environment_offline"));
	p.registration[0] ^= 1;
	p.internal_url = "";
	asked.fn(&asked, ENGINE_FOUND, &p);
	ck_did(REJECTED(409, "", "environment_offline"));
	CK_REFUSED(offline, 3);
	is_sent_on = true;
	attach_harness();
	ck_did(REJECTED(409, "", "environment_offline"));
}
END_TEST

/* --- bodies and answers that its calls share --- */

#define SUITE	"Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"

/* Write the key into what then is a body, and read it. */
static bool
key_of(const char *from, const char *to)
{
	struct call	 c = { .hub = &hub, .door = &door };
	struct hubkey	 key, got;
	struct json_out	 o;
	struct buf	 b;
	char		*at;
	bool		 has;

	memset(&key, 'k', sizeof(key));
	buf_init(&b, HUBCALL_ROOM);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	call_put_key(&o, "key", &key);
	json_out_close(&o, '}');
	ck_assert_int_eq(json_out_fini(&o), 0);
	ck_assert_ptr_nonnull(at = memmem(buf_data(&b), b.len, from,
	    strlen(from)));
	memcpy(at, to, strlen(to));
	door.body = (struct span){ (const char *)buf_data(&b), b.len };
	json_init(&c.json);
	ck_assert(call_parse(&c));
	if ((has = call_take_key(&c, "key", &got)))
		ck_assert(call_same_key(&got, &key));
	ck_assert(!call_take_key(&c, "other", &got));
	json_fini(&c.json);
	free(c.body);
	buf_fini(&b);
	return has;
}

START_TEST(test_keys)
{
	ck_assert(key_of(SUITE, SUITE));
	ck_assert(!key_of("SHA256", "SHA257"));
	ck_assert(!key_of("\"suite", "\"suitf"));
	ck_assert(!key_of("\"x25519", "\"y25519"));
	ck_assert(!key_of("\"mlkem768", "\"mlkem769"));
	ck_assert(!key_of("a2tr", "a2t*"));
}
END_TEST

/* A text of another length than the key's: too long, too short by one. */
START_TEST(test_key_lengths)
{
	struct call	 c = { .hub = &hub, .door = &door };
	struct hubkey	 got;
	char		 body[2 * B64_ENCODED_LEN(HUBKEY_KEM_LEN) + 200];
	size_t		 max = B64_ENCODED_LEN(HUBKEY_KEM_LEN), i;
	static const size_t	 dh[] = { 44, 44, 48, 40, 1580, 44 };
	const size_t		 kem[] = { max, max + 4, max, max, max,
				    max - 4 };

	for (i = 0; i < sizeof(dh) / sizeof(dh[0]); i++) {
		snprintf(body, sizeof(body), "{\"key\":{\"suite\":\"" SUITE
		    "\",\"x25519_public_key\":\"%0*d=\","
		    "\"mlkem768_public_key\":\"%0*d=\"}}",
		    (int)dh[i] - 1, 0, (int)kem[i] - 1, 0);
		door.body = span_of(body);
		json_init(&c.json);
		ck_assert(call_parse(&c));
		ck_assert(call_take_key(&c, "key", &got) == (i == 0));
		json_fini(&c.json);
		free(c.body);
		c.body = NULL;
	}
}
END_TEST

START_TEST(test_answers)
{
	struct call	 c = { .hub = &hub, .door = &door, .what = "connect",
			    .environment = ID };
	struct json_out	 o;
	struct buf	 b;

	buf_init(&b, HUBCALL_ROOM);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_close(&o, '}');
	call_answer(&c, &o, &b);
	ck_did("200 json {}");
	/* There is no room for it. */
	c.door = &door;
	buf_init(&b, 1);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_close(&o, '}');
	call_answer(&c, &o, &b);
	ck_did("503 Retry-After: 5\r\nerror unavailable: out of memory");
	c.door = &door;
	call_not_found(&c);
	ck_did("404 error environment_not_found: there is no such environment "
	    "for you");
	CK_REFUSED(forbidden, 1);
	c.door = &door;
	call_offline(&c);
	ck_did("409 Retry-After: 1\r\nerror environment_offline: the "
	    "environment has no executor at the moment");
	CK_REFUSED(offline, 1);
	c.door = &door;
	call_unknown(&c);
	ck_did("503 Retry-After: 1\r\nerror unavailable: the other hubs cannot "
	    "be asked at the moment");
	CK_REFUSED(engine, 1);
	c.door = &door;
	call_no_memory(&c);
	ck_did("503 Retry-After: 5\r\nerror unavailable: out of memory");
	CK_REFUSED(limit, 1);
	ck_said("connect  " ID " 192.0.2.1 unavailable");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("hubapi");
	TCase	*t = tcase_create("hubapi");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_routes, 0,
	    sizeof(routes) / sizeof(routes[0]));
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_ready);
	tcase_add_test(t, test_metrics);
	tcase_add_test(t, test_own_url);
	tcase_add_test(t, test_bodies);
	tcase_add_test(t, test_tokens);
	tcase_add_test(t, test_penalty_seconds);
	tcase_add_test(t, test_rate);
	tcase_add_loop_test(t, test_attach, 0, 2);
	tcase_add_test(t, test_attach_refused);
	tcase_add_test(t, test_attach_tickets);
	tcase_add_test(t, test_attach_taken);
	tcase_add_test(t, test_probe_again);
	tcase_add_test(t, test_attach_shared);
	tcase_add_test(t, test_attach_room);
	tcase_add_test(t, test_harness);
	tcase_add_test(t, test_harness_room);
	tcase_add_loop_test(t, test_harness_there, 0, 2);
	tcase_add_test(t, test_keys);
	tcase_add_test(t, test_key_lengths);
	tcase_add_test(t, test_answers);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
