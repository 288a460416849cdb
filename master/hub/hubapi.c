#include "master/hub/hubapi.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/limit.h"
#include "common/log.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubfar.h"
#include "master/hub/hubfleet.h"
#include "master/hub/hubmetrics.h"
#include "master/hub/hubregistry.h"

#define REGISTRY	"/cloud/environment/"

/* Find a parameter of a query "a=b&c=d"; no escapes. */
static struct span
api_parameter(struct span query, const char *name)
{
	struct span	 part, key;

	while (query.len > 0) {
		if (!span_cut(&query, '&', &part)) {
			part = query;
			query.len = 0;
		}
		if (span_cut(&part, '=', &key) && span_is(key, name))
			return part;
	}
	return (struct span){ NULL, 0 };
}

/* --- the rendezvous --- */

static void
call_attach_executor(struct call *c, const struct ticket *t)
{
	struct hub	*h = c->hub;
	struct executor	*x;
	struct subject	*s;
	struct hubconn	*conn;
	struct span	 rest;

	if (h->drain.is_on) {
		call_reject(c, HUBWHY_draining, 503, "pod_draining");
		return;
	}
	if (replay_has(&h->evicted, registration_nonce(t->registration))) {
		call_reject(c, HUBWHY_ticket, 403, "evicted");
		return;
	}
	if (!hubrules_may_register(&h->site->conf, &c->who.is,
	    c->environment)) {
		call_reject(c, HUBWHY_forbidden, 403, "not_allowed");
		return;
	}
	x = switchboard_find(&h->board, c->environment);
	/* One that was claimed was probed before that. */
	if (x != NULL && c->probe != CLAIMED) {
		if (!call_same_key(&x->key, &t->key)) {
			if (c->probe == UNKNOWN) {
				call_probe(c, x);
				return;
			}
			if (c->probe == ALIVE) {
				call_reject(c, HUBWHY_conflict, 409,
				    "registration_conflict");
				return;
			}
		} else if (memcmp(t->registration, x->registration,
		    REGISTRATION_LEN) < 0) {
			call_reject(c, HUBWHY_conflict, 409, "superseded");
			return;
		}
	}
	if (h->engine->is_shared && c->probe != CLAIMED) {
		if (c->probe == KEPT)
			call_reject(c, HUBWHY_conflict, 409,
			    "registration_conflict");
		else
			hubfleet_claim(c, t);
		return;
	}
	if (x != NULL)
		HUB_COUNT(h, takeovers);
	if ((s = subject_ref(&h->subjects, t->subject)) == NULL) {
		call_reject(c, HUBWHY_limit, 503, "unavailable");
		return;
	}
	if (x == NULL && t->limit > 0 && s->executors >= t->limit) {
		subject_unref(&s);
		call_reject(c, HUBWHY_limit, 409, "too_many_environments");
		return;
	}
	conn = door_upgrade(c->door, &rest);
	if ((x = switchboard_attach(&h->board, c->environment, t, s,
	    c->door->address, &conn, rest)) == NULL) {
		log_warn("executor of %s", c->environment);
		hubconn_free(&conn);
	} else {
		x->takes_flow = c->door->request.takes_flow;
		HUB_COUNT(h, attaches);
	}
	subject_unref(&s);
	door_free(&c->door);
}

/* Its executor is elsewhere: the other hubs have answered, or not. */
static void
call_splice_there(struct hubfleet_asked *a, enum engine_answer answer,
    const struct engine_place *p)
{
	struct hub		*h = a->hub;
	struct call		 c = { .hub = h, .door = a->door,
				    .what = "attach" };
	struct hubsplice_to	 to;
	const char		*host = strstr(h->site->conf.fleet_url,
				    "://") + 3;
	char			 name[256];

	memcpy(c.environment, a->environment, sizeof(c.environment));
	memcpy(c.who.name, a->subject, sizeof(c.who.name));
	if (answer == ENGINE_DOWN) {
		call_reject(&c, HUBWHY_engine, 503, "unavailable");
		return;
	}
	if (p == NULL || memcmp(p->registration, a->ticket.registration,
	    REGISTRATION_LEN) != 0 ||
	    hubsplice_parse(&to, p->internal_url) == -1) {
		call_reject(&c, HUBWHY_offline, 409, "environment_offline");
		return;
	}
	to.is_proxied = p->is_proxied;
	HUB_COUNT(h, splices);
	hubaudit(h, "splice", (const struct hubaudit_item[]){
	    { "subject", a->subject, 0 },
	    { "environment", a->environment, 0 },
	    { "address", a->door->address, 0 },
	    { "to", p->internal_url, 0 },
	    { NULL, NULL, 0 } });
	/* All hubs have a certificate for the name of the fleet. */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, ":/"), host);
	hubsplice_start(&h->splices, &c.door, &to, h->site->client, name);
}

static void
call_attach_harness(struct call *c, const struct ticket *t)
{
	struct hub	*h = c->hub;
	struct executor	*x;
	struct subject	*s;
	struct hubconn	*conn;
	struct span	 rest;
	uint64_t	 now = (uint64_t)time(NULL);

	x = switchboard_find(&h->board, c->environment);
	if (x == NULL || memcmp(x->registration, t->registration,
	    REGISTRATION_LEN) != 0) {
		if (h->engine->is_shared && !hubsplice_is_sent_on(c->door))
			hubfleet_where(c, NULL, t, call_splice_there);
		else
			call_reject(c, HUBWHY_offline, 409,
			    "environment_offline");
		return;
	}
	if (x->nharness >= LIMIT_STREAMS) {
		call_reject(c, HUBWHY_limit, 429, "too_many_streams");
		return;
	}
	if (!replay_take(&h->used, t->nonce, t->until +
	    h->site->conf.bearer_skew / 1000, now)) {
		call_reject(c, HUBWHY_ticket, 403, "already_used");
		return;
	}
	if ((s = subject_ref(&h->subjects, t->subject)) == NULL) {
		call_reject(c, HUBWHY_limit, 503, "unavailable");
		return;
	}
	if (t->limit > 0 && s->harnesses >= t->limit) {
		subject_unref(&s);
		call_reject(c, HUBWHY_limit, 429, "too_many_streams");
		return;
	}
	conn = door_upgrade(c->door, &rest);
	if (switchboard_connect(x, t, s, c->door->address, &conn, rest) ==
	    NULL) {
		log_warn("harness of %s", c->environment);
		hubconn_free(&conn);
	} else {
		HUB_COUNT(h, harnesses);
	}
	subject_unref(&s);
	door_free(&c->door);
}

/* Which of the two it is, its ticket says. */
static void
call_attach(struct call *c, struct span query)
{
	const struct site	*s = c->hub->site;
	struct span		 text = api_parameter(query, "ticket");
	uint64_t		 now = (uint64_t)time(NULL);
	uint64_t		 skew = s->conf.bearer_skew / 1000;
	enum ticket_verdict	 v;
	struct ticket		 t;
	bool			 is_executor = true;
	char			 lines[HUBCALL_LINES];

	c->what = "attach";
	if (!c->door->request.is_upgrade) {
		call_malformed(c, "a websocket is expected here");
		return;
	}
	if (text.at == NULL) {
		call_reject(c, HUBWHY_ticket, 404, "unknown_route");
		return;
	}
	v = ticket_read(s->keys, TICKET_EXECUTOR, c->environment, text, now,
	    skew, &t);
	if (v == TICKET_FORGED) {
		is_executor = false;
		v = ticket_read(s->keys, TICKET_HARNESS, c->environment, text,
		    now, skew, &t);
	}
	if (v != TICKET_GOOD) {
		if (v == TICKET_FORGED && call_has_penalty(c, lines)) {
			call_reject(c, HUBWHY_penalty, 429, "rate_limited");
			return;
		}
		if (v == TICKET_FORGED)
			call_add_penalty(c, "forged ticket", true);
		call_reject(c, v == TICKET_FORGED ? HUBWHY_ticket :
		    HUBWHY_expired, v == TICKET_FORGED ? 403 : 401,
		    ticket_why(v));
		return;
	}
	if (!site_recall(s, t.subject, now, &c->who)) {
		call_reject(c, HUBWHY_token, 403, "revoked");
		return;
	}
	if (is_executor)
		call_attach_executor(c, &t);
	else
		call_attach_harness(c, &t);
}

/* --- routes --- */

/* Whoever tries what there is: it is counted, but not worth a line. */
static void
call_not_served(struct call *c, int status, const char *lines,
    const char *code, const char *message)
{
	HUB_REFUSED(c->hub, malformed);
	door_error(&c->door, status, lines, code, message);
}

static void
call_nothing_here(struct call *c)
{
	call_not_served(c, 404, NULL, "not_found", "there is nothing here");
}

static const struct {
	const char	*name;
	void		(*fn)(struct call *);
} registry_calls[] = {
	{ "register", call_register },
	{ "connect", call_connect },
	{ "validate", call_validate },
};

static int
api_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ?
	    c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decode a segment of a path into an environment's id. */
static bool
call_take_environment(struct call *c, struct span segment)
{
	size_t	 i, n = 0;
	int	 high, low;

	for (i = 0; i < segment.len && n < ENVIRONMENT_MAX; i++, n++) {
		c->environment[n] = segment.at[i];
		if (segment.at[i] != '%')
			continue;
		if (segment.len - i < 3 ||
		    (high = api_hex(segment.at[i + 1])) == -1 ||
		    (low = api_hex(segment.at[i + 2])) == -1)
			break;
		c->environment[n] = (char)(high << 4 | low);
		i += 2;
	}
	c->environment[n] = '\0';
	if (i == segment.len && environment_is_valid((struct span){
	    c->environment, n }))
		return true;
	/* It goes into logs. */
	strcpy(c->environment, "?");
	return false;
}

static struct span
span_from(struct span s, size_t n)
{
	return (struct span){ s.at + n, s.len - n };
}

static void
call_route_registry(struct call *c, struct span path)
{
	struct span	 segment;
	size_t		 i;

	if (!span_cut(&path, '/', &segment)) {
		call_malformed(c, "there is nothing here");
		return;
	}
	for (i = 0; i < sizeof(registry_calls) / sizeof(registry_calls[0]);
	    i++)
		if (span_is(path, registry_calls[i].name))
			break;
	if (i == sizeof(registry_calls) / sizeof(registry_calls[0])) {
		call_nothing_here(c);
		return;
	}
	c->what = registry_calls[i].name;
	if (!span_is(c->door->request.method, "POST")) {
		call_not_served(c, 405, "Allow: POST\r\n",
		    "method_not_allowed", "POST is expected");
		return;
	}
	if (!call_take_environment(c, segment)) {
		call_malformed(c, "an environment's id is 1 to 128 letters, "
		    "digits or -_.~:@+");
		return;
	}
	if (!call_identify(c))
		return;
	if (!call_parse(c)) {
		call_malformed(c, "the body is no JSON object");
		return;
	}
	registry_calls[i].fn(c);
}

static void
call_route_get(struct call *c, struct span path, struct span query)
{
	struct hub	*h = c->hub;
	struct buf	 b;

	if (span_begins(path, HUBCALL_ATTACH)) {
		if (call_take_environment(c, span_from(path,
		    strlen(HUBCALL_ATTACH))))
			call_attach(c, query);
		else
			call_reject(c, HUBWHY_ticket, 404, "unknown_route");
	} else if (span_is(path, "/livez")) {
		door_answer(&c->door, 200, NULL, "text/plain", "ok\n", 3);
	} else if (span_is(path, "/readyz")) {
		/* Without the engine we still serve what is here. */
		if (h->drain.is_on)
			door_answer(&c->door, 503, HUBCALL_RETRY(1),
			    "text/plain", "draining\n", 9);
		else if (!h->engine->ops->is_up(h->engine))
			door_answer(&c->door, 200, NULL, "text/plain",
			    "no engine\n", 10);
		else
			door_answer(&c->door, 200, NULL, "text/plain", "ok\n",
			    3);
	} else if (span_is(path, "/metrics") && c->door->is_metrics) {
		buf_init(&b, HUBCALL_ROOM);
		if (hubmetrics_put(h, &b) == -1)
			door_error(&c->door, 503, NULL, "unavailable",
			    "out of memory");
		else
			door_answer(&c->door, 200, NULL, HUBMETRICS_TYPE,
			    buf_data(&b), b.len);
		buf_fini(&b);
	} else if (span_is(path, HUBFAR_PATH)) {
		c->what = "control";
		if (call_identify(c))
			hubfar_open(c);
	} else {
		call_nothing_here(c);
	}
}

/* Cut off the path that one of our URLs begins with. */
static struct span
api_below(const char *url, struct span path)
{
	const char	*base = strchr(strstr(url, "://") + 3, '/');

	if (base != NULL && span_begins(path, base) &&
	    path.len > strlen(base) && path.at[strlen(base)] == '/')
		return span_from(path, strlen(base));
	return path;
}

static void
hubapi_again(struct hub *h, struct door *d, enum probe probe)
{
	struct call	 c = { .hub = h, .door = d, .what = "request",
			    .probe = probe, .again = hubapi_again };
	struct span	 query = d->request.target, path;

	assert(d->is_asked && d->cancel == NULL);
	if (!span_cut(&query, '?', &path)) {
		path = query;
		query = (struct span){ NULL, 0 };
	}
	path = api_below(h->site->conf.fleet_url, path);
	if (h->site->conf.hub_url[0] != '\0')
		path = api_below(h->site->conf.hub_url, path);
	json_init(&c.json);
	if (d->request.has_origin)
		call_not_served(&c, 403, NULL, "not_allowed",
		    "browsers are not served");
	else if (span_begins(path, REGISTRY))
		call_route_registry(&c, span_from(path, strlen(REGISTRY)));
	else if (span_is(d->request.method, "GET") ||
	    span_is(d->request.method, "HEAD"))
		call_route_get(&c, path, query);
	else
		call_nothing_here(&c);
	json_fini(&c.json);
	free(c.body);
}

void
hubapi_request(struct hub *h, struct door *d)
{
	hubapi_again(h, d, UNKNOWN);
}
