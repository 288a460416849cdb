#include "master/hub/hubfleet.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "master/hub/fleet/engine_nats.h"
#include "master/hub/fleet/hubsplice.h"
#include "master/hub/hubctl.h"

/* --- settings --- */

int
hubfleet_check(const struct site *s, struct conf_error *e)
{
	const struct hubconf	*c = &s->conf;
	struct natslink_server	 server;
	struct natscred		*cred;
	struct hubsplice_to	 to;
	const char		*why;
	size_t			 i;

	if (c->engine.n > NATSLINK_SERVERS)
		return conf_fail(e, "Engine: more than %d", NATSLINK_SERVERS);
	for (i = 0; i < c->engine.n; i++) {
		if (natslink_parse(&server, c->engine.item[i]) == -1)
			return conf_fail(e, "Engine %.200s: expected "
			    "nats://HOST:PORT or tls://HOST:PORT",
			    c->engine.item[i]);
		if (server.needs_tls && s->client == NULL)
			return conf_fail(e, "Engine %.200s: it needs CaFile",
			    c->engine.item[i]);
	}
	if (!engine_nats_is_prefix(c->engine_subject))
		return conf_fail(e, "EngineSubject %.100s: expected words "
		    "with dots between, of at most %d characters",
		    c->engine_subject, ENGINE_PREFIX_MAX);
	if (c->internal_url[0] != '\0' && hubsplice_parse(&to,
	    c->internal_url) == -1)
		return conf_fail(e, "InternalUrl %.200s: expected "
		    "http://IP:PORT or https://IP:PORT", c->internal_url);
	if (s->engine == NULL)
		return 0;
	if ((cred = natscred_new(s->engine, strlen(s->engine), &why)) == NULL)
		return conf_fail(e, "EngineCredentials %.200s: %s",
		    c->engine_credentials, why);
	natscred_free(&cred);
	return 0;
}

bool
hubfleet_needs_names(const struct site *s)
{
	struct natslink_server	 server;
	size_t			 i;

	for (i = 0; i < s->conf.engine.n; i++)
		if (natslink_parse(&server, s->conf.engine.item[i]) == 0 &&
		    server.is_name)
			return true;
	return false;
}

/* --- what the others ask --- */

void
hubfleet_place(const struct hub *h, const struct executor *x,
    struct engine_place *out)
{
	const struct hubconf	*c = &h->site->conf;
	bool			 splices = c->hub_reach == CONF_REACH_SPLICE;

	*out = (struct engine_place){
		.hub_url = splices ? "" : hub_url(h),
		.internal_url = splices ? c->internal_url : "",
		.is_proxied = splices && c->proxy_protocol &&
		    strncmp(c->internal_url, "http://", 7) == 0,
		.labels = x->labels, .subject = x->subject->name,
		.key = x->key
	};
	memcpy(out->registration, x->registration, sizeof(out->registration));
}

/* An answer to another hub that has to wait for an executor of ours. */
struct hubfleet_judging {
	struct hubprobe		 probe;
	struct hub		*hub;
	struct engine_reply	 reply;
	bool			 is_claim;	/* else where */
	char			 environment[ENVIRONMENT_MAX + 1];
	LIST_ENTRY(hubfleet_judging) entry;
};

static void
hubfleet_judging_free(struct hubfleet_judging *j)
{
	LIST_REMOVE(j, entry);
	hubprobe_stop(&j->probe);
	free(j);
}

static void
hubfleet_on_judged(void *arg, enum probe probe)
{
	struct hubfleet_judging	*j = arg;
	struct hub		*h = j->hub;
	struct engine		*e = h->engine;
	struct executor		*x = switchboard_find(&h->board,
				    j->environment);
	struct engine_place	 p;

	if (probe != ALIVE || x == NULL) {
		if (j->is_claim && x != NULL)
			switchboard_detach(x, WSLINK_POLICY, "silent, and "
			    "attached elsewhere");
		e->ops->yielded(e, j->environment, &j->reply);
	} else if (j->is_claim) {
		e->ops->kept(e, j->environment, &j->reply);
	} else {
		hubfleet_place(h, x, &p);
		e->ops->place(e, j->environment, &j->reply, &p);
	}
	hubfleet_judging_free(j);
}

static void
hubfleet_judge(struct hub *h, struct executor *x, bool is_claim,
    const struct engine_reply *r)
{
	struct hubfleet_judging	*j;

	/* Without memory the other one goes on when nobody answers. */
	if ((j = calloc(1, sizeof(*j))) == NULL)
		return;
	j->hub = h;
	j->reply = *r;
	j->is_claim = is_claim;
	snprintf(j->environment, sizeof(j->environment), "%s", x->environment);
	LIST_INSERT_HEAD(&h->judging, j, entry);
	hubprobe_start(&j->probe, h, x, hubfleet_on_judged, j);
}

void
hubfleet_stop(struct hub *h)
{
	struct hubfleet_judging	*j;

	while ((j = LIST_FIRST(&h->judging)) != NULL)
		hubfleet_judging_free(j);
}

static void
hubfleet_on_where(void *arg, const char *environment, const uint8_t *key_hash,
    const struct engine_reply *r)
{
	struct hub		*h = arg;
	struct executor		*x = switchboard_find(&h->board, environment);
	struct engine_place	 p;
	uint8_t			 hash[HUBKEY_HASH_LEN];

	if (x != NULL)
		hubkey_hash(&x->key, hash);
	if (x == NULL || (key_hash != NULL && memcmp(hash, key_hash,
	    sizeof(hash)) == 0)) {
		h->engine->ops->yielded(h->engine, environment, r);
	} else if (key_hash != NULL) {
		hubfleet_judge(h, x, false, r);
	} else {
		hubfleet_place(h, x, &p);
		h->engine->ops->place(h->engine, environment, r, &p);
	}
}

enum hubfleet_verdict { YIELD, KEEP, JUDGE };

/*
 * Two executors of an environment.  The same registration is the same one, of
 * which the older connection is dead.  One key is one process: its later
 * registration counts.  Otherwise who was there and lives stays, unless both
 * have been there for a while, without hearing of each other.
 */
static enum hubfleet_verdict
hubfleet_compare(const struct executor *x, const struct engine_claim *c,
    bool is_later)
{
	uint8_t	 hash[HUBKEY_HASH_LEN];
	int	 order = memcmp(c->registration, x->registration,
		    REGISTRATION_LEN);

	if (order == 0 && c->is_again)
		return c->since > x->since || (c->since == x->since &&
		    is_later) ? YIELD : KEEP;
	if (order == 0)
		return YIELD;
	hubkey_hash(&x->key, hash);
	if (c->is_again || memcmp(hash, c->key_hash, sizeof(hash)) == 0)
		return order > 0 ? YIELD : KEEP;
	return JUDGE;
}

static void
hubfleet_on_claimed(void *arg, const char *environment,
    const struct engine_claim *c, bool is_later, const struct engine_reply *r)
{
	struct hub	*h = arg;
	struct engine	*e = h->engine;
	struct executor	*x = switchboard_find(&h->board, environment);

	switch (x == NULL ? YIELD : hubfleet_compare(x, c, is_later)) {
	case YIELD:
		if (x != NULL)
			switchboard_detach(x, WSLINK_POLICY,
			    "attached elsewhere");
		if (r != NULL)
			e->ops->yielded(e, environment, r);
		break;
	case KEEP:
		if (r != NULL)
			e->ops->kept(e, environment, r);
		else
			e->ops->claim_again(e, environment);
		break;
	case JUDGE:
		if (r != NULL)
			hubfleet_judge(h, x, true, r);
		break;
	}
}

static void
hubfleet_on_requested(void *arg, const char *environment, struct span text,
    const struct engine_reply *r)
{
	struct hub	*h = arg;

	hubctl_guest(h->ctl, environment, text, r);
}

static void
hubfleet_on_evicted(void *arg, const uint8_t *registration)
{
	hubctl_evicted(arg, registration);
}

static void
hubfleet_on_each(void *arg, void (*fn)(void *, const char *), void *fn_arg)
{
	const struct map	*all = &((struct hub *)arg)->board.executors;
	struct executor		*x;

	for (x = map_first(all); x != NULL; x = map_next(all, &x->node))
		fn(fn_arg, x->environment);
}

static void
hubfleet_claim_of(const struct executor *x, struct engine_claim *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->registration, x->registration, sizeof(out->registration));
	hubkey_hash(&x->key, out->key_hash);
	out->since = x->since;
}

static bool
hubfleet_on_claim_of(void *arg, const char *environment,
    struct engine_claim *out)
{
	struct hub	*h = arg;
	struct executor	*x = switchboard_find(&h->board, environment);

	if (x != NULL)
		hubfleet_claim_of(x, out);
	return x != NULL;
}

static const struct ticket_keys *
hubfleet_on_keys(void *arg)
{
	return ((struct hub *)arg)->site->keys;
}

static void
hubfleet_on_state(void *arg, bool is_up)
{
	struct hub	*h = arg;

	log_info("engine: %s, %zu executors", is_up ? "up" : "down",
	    h->board.executors.count);
}

static const struct engine_events hubfleet_events = {
	.where = hubfleet_on_where,
	.claimed = hubfleet_on_claimed,
	.requested = hubfleet_on_requested,
	.evicted = hubfleet_on_evicted,
	.each = hubfleet_on_each,
	.claim_of = hubfleet_on_claim_of,
	.keys = hubfleet_on_keys,
	.state = hubfleet_on_state,
};

struct engine *
hubfleet_engine(struct hub *h, struct hubnames **names)
{
	const struct hubconf	*c = &h->site->conf;
	struct engine_nats_how	 how = { .skew = c->bearer_skew,
				    .link = { .base = h->base,
				    .conns = &h->conns,
				    .tls = h->site->client,
				    .names = *names, .name = h->name } };
	struct engine		*e;
	const char		*why;
	size_t			 i;

	assert(h->engine == NULL && c->engine.n <= NATSLINK_SERVERS);
	if (c->engine.n == 0)
		return engine_local_new(&hubfleet_events, h);
	for (i = 0; i < c->engine.n; i++)
		if (natslink_parse(&how.link.server[how.link.nserver++],
		    c->engine.item[i]) == -1)
			return NULL;
	snprintf(how.prefix, sizeof(how.prefix), "%s", c->engine_subject);
	if (h->site->engine != NULL && (how.link.cred = natscred_new(
	    h->site->engine, strlen(h->site->engine), &why)) == NULL)
		return NULL;
	if (how.link.tls != NULL)
		SSL_CTX_up_ref(how.link.tls);
	if ((e = engine_nats_new(&how, &hubfleet_events, h)) == NULL) {
		natscred_free(&how.link.cred);
		SSL_CTX_free(how.link.tls);
		return NULL;
	}
	*names = NULL;
	return e;
}

/* --- what we ask --- */

struct hubfleet_waiting {
	struct engine_ask	 ask;
	struct hub		*hub;
	struct door		*door;
	void			(*again)(struct hub *, struct door *,
				    enum probe);
	bool			 is_claim;
	char			 environment[ENVIRONMENT_MAX + 1];
};

/* What was claimed, but is not attached, is not ours. */
static void
hubfleet_settle(struct hub *h, const char *environment)
{
	if (switchboard_find(&h->board, environment) == NULL)
		h->engine->ops->release(h->engine, environment);
}

static void
hubfleet_waiting_cancel(void *arg)
{
	struct hubfleet_waiting	*w = arg;

	w->hub->engine->ops->cancel(w->hub->engine, &w->ask);
	if (w->is_claim)
		hubfleet_settle(w->hub, w->environment);
	free(w);
}

static void
hubfleet_on_waited(void *arg, enum engine_answer answer,
    const struct engine_place *p)
{
	struct hubfleet_waiting	*w = arg;

	(void)p;
	assert(w->ask.pending == NULL && w->door->cancel_arg == w);
	w->door->cancel = NULL;
	/* Executors are taken, engine or not. */
	if (w->is_claim)
		w->again(w->hub, w->door, answer == ENGINE_FOUND ? KEPT :
		    CLAIMED);
	else
		w->again(w->hub, w->door, answer == ENGINE_FOUND ? ALIVE :
		    DEAD);
	if (w->is_claim)
		hubfleet_settle(w->hub, w->environment);
	free(w);
}

static struct hubfleet_waiting *
hubfleet_wait(struct call *c, bool is_claim)
{
	struct hubfleet_waiting	*w;

	assert(c->again != NULL && c->hub->engine->is_shared);
	if ((w = calloc(1, sizeof(*w))) == NULL) {
		call_no_memory(c);
		return NULL;
	}
	w->hub = c->hub;
	w->door = c->door;
	w->again = c->again;
	w->is_claim = is_claim;
	memcpy(w->environment, c->environment, sizeof(w->environment));
	w->ask.fn = hubfleet_on_waited;
	w->ask.arg = w;
	door_wait(c->door, hubfleet_waiting_cancel, w);
	c->door = NULL;
	return w;
}

void
hubfleet_claim(struct call *c, const struct ticket *t)
{
	struct engine		*e = c->hub->engine;
	struct hubfleet_waiting	*w;
	struct engine_claim	 claim;

	if ((w = hubfleet_wait(c, true)) == NULL)
		return;
	memset(&claim, 0, sizeof(claim));
	memcpy(claim.registration, t->registration,
	    sizeof(claim.registration));
	hubkey_hash(&t->key, claim.key_hash);
	claim.since = (uint64_t)time(NULL);
	e->ops->claim(e, w->environment, &claim, &w->ask);
}

void
hubfleet_ask_key(struct call *c, const struct hubkey *key)
{
	struct engine		*e = c->hub->engine;
	struct hubfleet_waiting	*w;
	uint8_t			 hash[HUBKEY_HASH_LEN];

	if ((w = hubfleet_wait(c, false)) == NULL)
		return;
	hubkey_hash(key, hash);
	e->ops->where(e, w->environment, hash, &w->ask);
}

static void
hubfleet_asked_cancel(void *arg)
{
	struct hubfleet_asked	*a = arg;

	a->hub->engine->ops->cancel(a->hub->engine, &a->ask);
	free(a);
}

static void
hubfleet_on_asked(void *arg, enum engine_answer answer,
    const struct engine_place *p)
{
	struct hubfleet_asked	*a = arg;

	assert(a->ask.pending == NULL && a->door->cancel_arg == a);
	a->door->cancel = NULL;
	a->fn(a, answer, p);
	free(a);
}

void
hubfleet_where(struct call *c, const struct hubkey *harness,
    const struct ticket *ticket, void (*fn)(struct hubfleet_asked *,
    enum engine_answer, const struct engine_place *))
{
	struct engine		*e = c->hub->engine;
	struct hubfleet_asked	*a;

	if ((a = calloc(1, sizeof(*a))) == NULL) {
		call_no_memory(c);
		return;
	}
	a->hub = c->hub;
	a->door = c->door;
	memcpy(a->environment, c->environment, sizeof(a->environment));
	memcpy(a->subject, c->who.name, sizeof(a->subject));
	if (harness != NULL)
		a->harness = *harness;
	if (ticket != NULL)
		a->ticket = *ticket;
	a->fn = fn;
	a->ask.fn = hubfleet_on_asked;
	a->ask.arg = a;
	door_wait(c->door, hubfleet_asked_cancel, a);
	c->door = NULL;
	e->ops->where(e, a->environment, NULL, &a->ask);
}
