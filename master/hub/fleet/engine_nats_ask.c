#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "master/hub/fleet/engine_nats_priv.h"

static void	 nats_on_late(void *arg);

static struct nats_pending *
nats_pending_new(struct engine_nats *n, enum fleetmsg_kind kind,
    const char *environment, uint64_t patience)
{
	struct nats_pending	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->n = n;
	p->kind = kind;
	p->number = ++n->last;
	p->since = clock_us();
	randombytes_buf(p->nonce, sizeof(p->nonce));
	snprintf(p->environment, sizeof(p->environment), "%s", environment);
	timer_init(&p->timer, natslink_base(n->link), nats_on_late, p);
	timer_set(&p->timer, patience);
	if (map_add(&n->pending, &p->node, &p->number, sizeof(p->number), p) ==
	    -1 || (kind == FLEETMSG_CLAIM && map_add(&n->claims,
	    &p->claim_node, p->environment, strlen(p->environment), p) ==
	    -1)) {
		if (p->node.owner != NULL)
			map_del(&n->pending, &p->node);
		timer_stop(&p->timer);
		free(p);
		return NULL;
	}
	return p;
}

void
nats_pending_free(struct nats_pending *p)
{
	struct engine_nats	*n = p->n;

	assert(p->ask == NULL || p->ask->pending == p);
	assert(p->request == NULL || p->request->pending == p);
	if (p->ask != NULL)
		p->ask->pending = NULL;
	if (p->request != NULL)
		p->request->pending = NULL;
	if (p->kind == FLEETMSG_CLAIM)
		map_del(&n->claims, &p->claim_node);
	map_del(&n->pending, &p->node);
	timer_stop(&p->timer);
	free(p);
}

/* The end of it, for whoever asked. */
void
nats_finish(struct nats_pending *p, enum engine_answer answer,
    const struct engine_place *place, unsigned silent)
{
	struct engine_nats	*n = p->n;
	struct engine_ask	*ask = p->ask;
	struct engine_request	*q = p->request;

	assert((ask == NULL) != (q == NULL));
	n->engine.counts.asked++;
	n->engine.counts.asked_us += clock_us() - p->since;
	nats_pending_free(p);
	if (ask != NULL)
		ask->fn(ask->arg, answer, place);
	else
		q->fn(q->arg, (struct span){ NULL, 0 }, silent);
}

static void
nats_on_late(void *arg)
{
	struct nats_pending	*p = arg;
	struct engine_nats	*n = p->n;

	if (p->request != NULL) {
		nats_finish(p, ENGINE_DOWN, NULL, p->wait.n > 0 ?
		    (unsigned)p->wait.n : 1);
		return;
	}
	if (!p->has_heard)
		natslink_doubt(n->link);
	nats_finish(p, p->has_heard ? ENGINE_NOBODY : ENGINE_DOWN, NULL, 0);
}

/* Publish it, with the subject for its answers. */
static void
nats_pending_send(struct nats_pending *p, const char *subject,
    struct span body, bool holds)
{
	struct engine_nats	*n = p->n;
	char			 reply[NATSWIRE_SUBJECT_MAX + 1];
	char			 held[NATSWIRE_SUBJECT_MAX + 1];
	struct buf		 b;

	snprintf(reply, sizeof(reply), "%s.inbox.%s.%" PRIx64, n->prefix,
	    n->id_text, p->number);
	assert(strlen(reply) < ENGINE_REPLY_MAX);
	buf_init(&b, 2 * NATSWIRE_DATA_MAX);
	/* First this, so that two who claim it at once hear of each other. */
	if ((holds && nats_put_hold(n, &b, p->environment, held) == -1) ||
	    nats_put(n, &b, subject, reply, p->kind, p->nonce, p->environment,
	    body) == -1)
		log_warn("engine");
	else
		natslink_send(n->link, &b);
	buf_fini(&b);
}

void
nats_where(struct engine *e, const char *environment, const uint8_t *key_hash,
    struct engine_ask *ask)
{
	struct engine_nats	*n = nats_of(e);
	struct nats_pending	*p;
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];
	struct span		 body = { (const char *)key_hash,
				    key_hash != NULL ? HUBKEY_HASH_LEN : 0 };

	assert(ask->pending == NULL);
	if (!natslink_is_up(n->link) || (p = nats_pending_new(n,
	    FLEETMSG_WHERE, environment, key_hash != NULL ? CLAIM_MS :
	    LIMIT_HUB_WHERE)) == NULL) {
		ask->fn(ask->arg, ENGINE_DOWN, NULL);
		return;
	}
	p->ask = ask;
	p->is_by_key = key_hash != NULL;
	ask->pending = p;
	nats_subject_env(n, environment, subject);
	nats_pending_send(p, subject, body, false);
}

void
nats_claim(struct engine *e, const char *environment,
    const struct engine_claim *c, struct engine_ask *ask)
{
	struct engine_nats	*n = nats_of(e);
	struct nats_pending	*p;
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];
	struct buf		 b;

	assert(ask->pending == NULL);
	p = map_find(&n->claims, environment, strlen(environment));
	if (p != NULL && memcmp(p->claim.registration, c->registration,
	    REGISTRATION_LEN) > 0) {
		ask->fn(ask->arg, ENGINE_FOUND, NULL);
		return;
	}
	if (p != NULL)
		nats_finish(p, ENGINE_FOUND, NULL, 0);
	assert(map_find(&n->claims, environment, strlen(environment)) == NULL);
	if (!natslink_is_up(n->link) || (p = nats_pending_new(n,
	    FLEETMSG_CLAIM, environment, CLAIM_MS)) == NULL) {
		ask->fn(ask->arg, ENGINE_DOWN, NULL);
		return;
	}
	p->ask = ask;
	p->claim = *c;
	ask->pending = p;
	nats_subject_env(n, environment, subject);
	buf_init(&b, 1024);
	if (fleetmsg_put_claim(&b, c) == -1)
		log_warn("engine");
	else
		nats_pending_send(p, subject, (struct span){
		    (const char *)buf_data(&b), b.len }, true);
	buf_fini(&b);
}

void
nats_cancel(struct engine *e, struct engine_ask *ask)
{
	(void)e;
	if (ask->pending != NULL)
		nats_pending_free(ask->pending);
}

void
nats_request(struct engine *e, const char *environment, const char *hub,
    struct span text, struct engine_request *q)
{
	struct engine_nats	*n = nats_of(e);
	struct nats_pending	*p = NULL;
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];
	char			 id[ID_TEXT + 1];
	const uint8_t		*to = NULL;

	assert(q->pending == NULL && (environment == NULL || hub == NULL));
	if (hub != NULL && (to = roster_find(&n->roster, hub)) == NULL) {
		q->fn(q->arg, (struct span){ NULL, 0 }, 0);
		return;
	}
	if (natslink_is_up(n->link))
		p = nats_pending_new(n, FLEETMSG_REQUEST,
		    environment != NULL ? environment : "", environment !=
		    NULL || hub != NULL ? CLAIM_MS : LIMIT_HUB_ALL);
	if (p == NULL) {
		q->fn(q->arg, (struct span){ NULL, 0 }, 1);
		return;
	}
	p->request = q;
	q->pending = p;
	if (environment != NULL) {
		nats_subject_env(n, environment, subject);
	} else if (hub != NULL) {
		sodium_bin2hex(id, sizeof(id), to, FLEETMSG_ID_LEN);
		nats_subject(n, "hub", id, subject);
	} else {
		nats_subject(n, "hub", "all", subject);
		roster_expect(&n->roster, &p->wait);
		if (p->wait.n == 0) {
			nats_finish(p, ENGINE_NOBODY, NULL, 0);
			return;
		}
		p->wait.is_all = true;
	}
	nats_pending_send(p, subject, text, false);
}

void
nats_cancel_request(struct engine *e, struct engine_request *q)
{
	(void)e;
	if (q->pending != NULL)
		nats_pending_free(q->pending);
}
