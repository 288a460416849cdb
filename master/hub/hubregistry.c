#include "master/hub/hubregistry.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/limit.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubfleet.h"

#define HARNESS_LIFE	60	/* seconds to connect after a connect */
#define AUTH_LIFE	120	/* seconds to be validated after it */
#define URL_MAX		(TICKET_MAX + 512)

/* The websocket URL of a place: wss for https. */
static void
api_url(const char *place, const char *environment, const char *ticket,
    char out[URL_MAX])
{
	int	 n;

	assert(strncmp(place, "http", 4) == 0);
	n = snprintf(out, URL_MAX, "ws%s" HUBCALL_ATTACH "%s?ticket=%s",
	    place + 4, environment, ticket);
	assert(n > 0 && n < URL_MAX);
}

static uint32_t
api_limit32(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void
api_ticket_for(struct ticket *t, const struct identity *who, uint64_t life)
{
	memset(t, 0, sizeof(*t));
	t->made = (uint64_t)time(NULL);
	t->until = t->made + life;
	snprintf(t->subject, sizeof(t->subject), "%s", who->name);
}

/* --- register --- */

static bool
call_has_room(struct call *c, const struct executor *there,
    struct subject_limits *max)
{
	struct subject	*s;
	bool		 has;

	hubrules_limits(&c->hub->site->conf, &c->who.is, true, max);
	if (max->environments == 0 || (there != NULL &&
	    strcmp(there->subject->name, c->who.name) == 0))
		return true;
	if ((s = subject_ref(&c->hub->subjects, c->who.name)) == NULL)
		return false;
	has = s->executors < max->environments;
	subject_unref(&s);
	return has;
}

/* Now in ms, but later than it was before: the later registration counts. */
static uint64_t
hub_moment(struct hub *h)
{
	uint64_t	 ms = clock_wall_ms();

	h->registered = ms > h->registered ? ms : h->registered + 1;
	return h->registered;
}

/* What is granted is logged; what both sides are told begins the answer. */
static void
grant_begin(struct call *c, struct json_out *o, struct buf *b,
    const char *event, const uint8_t *registration, const char *url)
{
	char	 id[REGISTRATION_TEXT + 1];

	registration_text(registration, id);
	hubaudit(c->hub, event, (const struct hubaudit_item[]){
	    { "subject", c->who.name, 0 },
	    { "environment", c->environment, 0 },
	    { "address", c->door->address, 0 },
	    { "registration", id, 0 },
	    { NULL, NULL, 0 } });
	buf_init(b, HUBCALL_ROOM);
	json_out_init(o, b);
	json_out_open(o, '{');
	json_out_pair(o, "environment_id", c->environment);
	json_out_pair(o, "url", url);
	json_out_pair(o, "security_profile", HUBCALL_PROFILE);
	json_out_pair(o, "executor_registration_id", id);
}

static void
call_grant_executor(struct call *c, const struct hubkey *key,
    const struct subject_limits *max)
{
	const struct hubconf	*conf = &c->hub->site->conf;
	struct json_out		 o;
	struct buf		 b;
	struct ticket		 t;
	char			 text[TICKET_MAX + 1], url[URL_MAX];

	api_ticket_for(&t, &c->who, conf->ticket_lifetime / 1000);
	registration_make(t.registration, hub_moment(c->hub));
	t.limit = api_limit32(max->environments);
	t.key = *key;
	snprintf(t.labels, sizeof(t.labels), "%s", hubrules_labels(conf,
	    &c->who.is));
	ticket_write(c->hub->site->keys, TICKET_EXECUTOR, c->environment, &t,
	    text);
	api_url(conf->fleet_url, c->environment, text, url);
	HUB_COUNT(c->hub, registers);
	grant_begin(c, &o, &b, "register", t.registration, url);
	json_out_close(&o, '}');
	call_answer(c, &o, &b);
}

void
call_register(struct call *c)
{
	struct hub		*h = c->hub;
	struct subject_limits	 max;
	struct executor		*x;
	struct hubkey		 key;

	if (!hubrules_may_register(&h->site->conf, &c->who.is,
	    c->environment)) {
		call_refuse(c, HUBWHY_forbidden, 403, NULL, "not_allowed",
		    "no rule allows this environment to this token");
		return;
	}
	if (!call_text_is(c, "security_profile", HUBCALL_PROFILE) ||
	    !call_take_key(c, "executor_public_key", &key)) {
		call_malformed(c, "expected a security_profile " HUBCALL_PROFILE
		    " and an executor_public_key");
		return;
	}
	x = switchboard_find(&h->board, c->environment);
	if (x != NULL && !call_same_key(&x->key, &key)) {
		if (c->probe == UNKNOWN) {
			call_probe(c, x);
			return;
		}
		if (c->probe == ALIVE) {
			call_refuse(c, HUBWHY_conflict, 503, HUBCALL_RETRY(5),
			    "registration_conflict",
			    "another executor has the environment");
			return;
		}
	}
	if (x == NULL && h->engine->is_shared && c->probe == UNKNOWN) {
		hubfleet_ask_key(c, &key);
		return;
	}
	if (x == NULL && c->probe == ALIVE) {
		call_refuse(c, HUBWHY_conflict, 503, HUBCALL_RETRY(5),
		    "registration_conflict",
		    "another hub has another executor of it");
		return;
	}
	if (!call_has_room(c, x, &max)) {
		call_refuse(c, HUBWHY_limit, 429, HUBCALL_RETRY(60),
		    "too_many_environments",
		    "MaxEnvironments of this token is reached");
		return;
	}
	call_grant_executor(c, &key, &max);
}

/* --- connect --- */

static void
call_grant_harness(struct call *c, const struct engine_place *p,
    const struct hubkey *harness)
{
	const struct hubconf	*conf = &c->hub->site->conf;
	struct subject_limits	 max;
	struct json_out		 o;
	struct buf		 b;
	struct ticket		 t;
	char			 text[TICKET_MAX + 1], url[URL_MAX];

	hubrules_limits(conf, &c->who.is, false, &max);
	api_ticket_for(&t, &c->who, HARNESS_LIFE);
	memcpy(t.registration, p->registration, sizeof(t.registration));
	t.limit = api_limit32(max.streams);
	t.rate = api_limit32((max.rate + 1023) / 1024);
	hubkey_hash(harness, t.harness);
	randombytes_buf(t.nonce, sizeof(t.nonce));
	ticket_write(c->hub->site->keys, TICKET_HARNESS, c->environment, &t,
	    text);
	/* "" may be reached by any hub. */
	api_url(p->hub_url[0] != '\0' ? p->hub_url : conf->fleet_url,
	    c->environment, text, url);
	t.until = t.made + AUTH_LIFE;
	ticket_write(c->hub->site->keys, TICKET_AUTHORIZATION, c->environment,
	    &t, text);
	HUB_COUNT(c->hub, connects);
	grant_begin(c, &o, &b, "connect", t.registration, url);
	call_put_key(&o, "executor_public_key", &p->key);
	json_out_pair(&o, "harness_key_authorization", text);
	json_out_close(&o, '}');
	call_answer(c, &o, &b);
}

/*
 * With the place of its executor, or NULL.  Whether an environment is not there
 * or not the caller's looks the same: 404, or, where a rule by labels may apply
 * as soon as it is there, offline.
 */
static void
call_connect_at(struct call *c, const struct engine_place *p,
    const struct hubkey *harness)
{
	const struct hubconf	*conf = &c->hub->site->conf;
	enum hubrules_answer	 may;

	may = hubrules_may_connect(conf, &c->who.is, c->environment, NULL);
	if (may == RULES_NO) {
		call_not_found(c);
		return;
	}
	if (p == NULL || hubrules_may_connect(conf, &c->who.is, c->environment,
	    p->labels) != RULES_YES) {
		if (p != NULL && may == RULES_YES)
			call_not_found(c);
		else
			call_offline(c);
		return;
	}
	call_grant_harness(c, p, harness);
}

/* The other hubs have answered, or not. */
static void
call_connect_there(struct hubfleet_asked *a, enum engine_answer answer,
    const struct engine_place *p)
{
	struct call		 c = { .hub = a->hub, .door = a->door,
				    .what = "connect" };
	struct executor		*x;
	struct engine_place	 here;

	memcpy(c.environment, a->environment, sizeof(c.environment));
	/* A reload may have changed what it may do. */
	if (!site_recall(a->hub->site, a->subject, (uint64_t)time(NULL),
	    &c.who)) {
		call_not_found(&c);
		return;
	}
	if ((x = switchboard_find(&a->hub->board, a->environment)) != NULL) {
		hubfleet_place(a->hub, x, &here);
		p = &here;
	} else if (answer == ENGINE_DOWN) {
		call_unknown(&c);
		return;
	} else if (p != NULL) {
		HUB_COUNT(a->hub, redirects);
	}
	call_connect_at(&c, p, &a->harness);
}

void
call_connect(struct call *c)
{
	struct executor		*x;
	struct engine_place	 p;
	struct hubkey		 harness;

	if (!call_take_key(c, "harness_public_key", &harness)) {
		call_malformed(c, "expected a harness_public_key");
		return;
	}
	if ((x = switchboard_find(&c->hub->board, c->environment)) != NULL) {
		hubfleet_place(c->hub, x, &p);
		call_connect_at(c, &p, &harness);
	} else if (!c->hub->engine->is_shared || hubrules_may_connect(
	    &c->hub->site->conf, &c->who.is, c->environment, NULL) ==
	    RULES_NO) {
		call_connect_at(c, NULL, &harness);
	} else {
		hubfleet_where(c, &harness, NULL, call_connect_there);
	}
}

/* --- validate --- */

static bool
call_is_authorized(const struct call *c, const struct hubkey *harness)
{
	const struct site	*s = c->hub->site;
	const struct json	*j = &c->json;
	uint32_t		 i = json_find(j, 0,
				    "harness_key_authorization");
	struct identity		 who;
	struct ticket		 t;
	uint8_t			 hash[HUBKEY_HASH_LEN];
	char			 id[REGISTRATION_TEXT + 1];
	uint64_t		 now = (uint64_t)time(NULL);

	if (i == 0 || json_tok(j, i)->type != JSON_STRING ||
	    ticket_read(s->keys, TICKET_AUTHORIZATION, c->environment,
	    (struct span){ json_text(j, i), json_tok(j, i)->len }, now,
	    s->conf.bearer_skew / 1000, &t) != TICKET_GOOD)
		return false;
	registration_text(t.registration, id);
	hubkey_hash(harness, hash);
	return memcmp(hash, t.harness, sizeof(hash)) == 0 &&
	    call_text_is(c, "executor_registration_id", id) &&
	    site_recall(s, t.subject, now, &who);
}

void
call_validate(struct call *c)
{
	static const char	*const said[] = { "{\"valid\":false}",
				    "{\"valid\":true}" };
	struct hubkey		 harness;
	bool			 is_valid;

	if (!hubrules_may_register(&c->hub->site->conf, &c->who.is,
	    c->environment)) {
		call_refuse(c, HUBWHY_forbidden, 403, NULL, "not_allowed",
		    "no rule allows this environment to this token");
		return;
	}
	if (!call_take_key(c, "harness_public_key", &harness)) {
		call_malformed(c, "expected a harness_public_key");
		return;
	}
	is_valid = call_is_authorized(c, &harness);
	if (is_valid)
		HUB_COUNT(c->hub, validates);
	else
		HUB_COUNT(c->hub, invalids);
	door_answer(&c->door, 200, NULL, NULL, said[is_valid],
	    strlen(said[is_valid]));
}
