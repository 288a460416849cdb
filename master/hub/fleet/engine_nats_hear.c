#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "master/hub/fleet/engine_nats_priv.h"

/* --- answers to us --- */

static void
nats_take_place(struct nats_pending *p, const struct fleetmsg *m)
{
	struct fleetmsg_texts	 texts;
	struct engine_place	 place;

	if (fleetmsg_get_place(m->body, &texts, &place) == 0)
		nats_finish(p, ENGINE_FOUND, &place, 0);
}

static void
nats_take_rows(struct nats_pending *p, const struct fleetmsg *m)
{
	struct engine_nats	*n = p->n;
	struct engine_request	*q = p->request;
	uint64_t		 number = p->number;

	assert(p->kind == FLEETMSG_REQUEST && q != NULL);
	if (m->body.len > 0)
		q->fn(q->arg, m->body, 0);
	/* Whoever got them may have lost interest. */
	if (m->kind != FLEETMSG_END || (p = map_find(&n->pending, &number,
	    sizeof(number))) == NULL)
		return;
	if (!p->wait.is_all || roster_heard(&p->wait, m->from))
		nats_finish(p, ENGINE_NOBODY, NULL, 0);
}

static void
nats_take_answer(struct nats_pending *p, const struct fleetmsg *m)
{
	if (strcmp(m->environment, p->environment) != 0)
		return;
	switch (p->kind) {
	case FLEETMSG_WHERE:
		if (m->kind == FLEETMSG_PLACE)
			nats_take_place(p, m);
		else if (m->kind == FLEETMSG_YIELDED && p->is_by_key)
			nats_finish(p, ENGINE_NOBODY, NULL, 0);
		else if (m->kind == FLEETMSG_YIELDED)
			p->has_heard = true;
		break;
	case FLEETMSG_CLAIM:
		if (m->kind == FLEETMSG_KEPT)
			nats_finish(p, ENGINE_FOUND, NULL, 0);
		else if (m->kind == FLEETMSG_YIELDED)
			nats_finish(p, ENGINE_NOBODY, NULL, 0);
		break;
	default:
		if (m->kind == FLEETMSG_ROWS || m->kind == FLEETMSG_END)
			nats_take_rows(p, m);
		break;
	}
}

/* The server itself says that nobody subscribes to it. */
static void
nats_take_nobody(struct nats_pending *p)
{
	if (!p->wait.is_all)
		nats_finish(p, ENGINE_NOBODY, NULL, 0);
}

static void
nats_on_answer(struct engine_nats *n, struct span number_text,
    const struct natswire *w)
{
	struct nats_pending	*p;
	struct fleetmsg		 m;
	char			 text[24], *end;
	uint64_t		 number;

	snprintf(text, sizeof(text), "%.*s", (int)number_text.len,
	    number_text.at);
	number = strtoull(text, &end, 16);
	if (*end != '\0' || (p = map_find(&n->pending, &number,
	    sizeof(number))) == NULL)
		return;
	if (w->status == NATSWIRE_NOBODY && w->data.len == 0) {
		nats_take_nobody(p);
	} else if (fleetmsg_read(n->engine.events->keys(n->engine.arg),
	    w->data, &m) == -1) {
		n->engine.counts.forged++;
		log_debug("engine: an answer that no hub of ours signed");
	} else if (memcmp(m.nonce, p->nonce, sizeof(m.nonce)) != 0) {
		n->engine.counts.replayed++;
	} else {
		nats_take_answer(p, &m);
	}
}

/* --- questions to us --- */

/* Two who claim it at the same time: the later registration, then the id. */
static void
nats_on_claim(struct engine_nats *n, const struct fleetmsg *m,
    const struct engine_claim *c, const struct engine_reply *r)
{
	struct nats_pending	*p;
	bool			 is_later = memcmp(m->from, n->id,
				    sizeof(n->id)) > 0;
	int			 order;

	p = map_find(&n->claims, m->environment, strlen(m->environment));
	if (p != NULL && r != NULL) {
		order = memcmp(c->registration, p->claim.registration,
		    REGISTRATION_LEN);
		if (order < 0 || (order == 0 && !is_later)) {
			nats_answer(n, m->environment, r, FLEETMSG_KEPT,
			    (struct span){ NULL, 0 });
			return;
		}
		nats_finish(p, ENGINE_FOUND, NULL, 0);
	}
	n->engine.events->claimed(n->engine.arg, m->environment, c, is_later,
	    r);
}

static void
nats_take_question(struct engine_nats *n, const struct fleetmsg *m,
    const struct engine_reply *r)
{
	const struct engine_events	*events = n->engine.events;
	void				*arg = n->engine.arg;
	struct engine_claim		 c;
	char				 id[ID_TEXT + 1];

	switch (m->kind) {
	case FLEETMSG_WHERE:
		if (r != NULL && (m->body.len == 0 ||
		    m->body.len == HUBKEY_HASH_LEN))
			events->where(arg, m->environment, m->body.len == 0 ?
			    NULL : (const uint8_t *)m->body.at, r);
		break;
	case FLEETMSG_CLAIM:
		if (fleetmsg_get_claim(m->body, &c) == 0)
			nats_on_claim(n, m, &c, r);
		break;
	case FLEETMSG_REQUEST:
		if (r != NULL)
			events->requested(arg, m->environment, m->body, r);
		break;
	case FLEETMSG_EVICTED:
		if (m->body.len == REGISTRATION_LEN)
			events->evicted(arg, (const uint8_t *)m->body.at);
		break;
	case FLEETMSG_HELLO:
		if (!roster_hello(&n->roster, m->from, m->body, clock_ms()))
			break;
		sodium_bin2hex(id, sizeof(id), m->from, sizeof(m->from));
		nats_hello(n, id);
		break;
	case FLEETMSG_BYE:
		roster_bye(&n->roster, m->from);
		break;
	default:
		break;
	}
}

/*
 * Who has it is no secret between those who may ask; with a key the executor is
 * asked whether it lives.
 */
static bool
nats_is_harmless(const struct fleetmsg *m)
{
	return m->kind == FLEETMSG_WHERE && m->body.len == 0;
}

static void
nats_on_question(struct engine_nats *n, const struct natswire *w)
{
	struct engine_reply	 reply, *r = NULL;
	struct fleetmsg		 m;
	uint64_t		 now = clock_wall_ms();
	size_t			 len = strlen(n->prefix);

	if (fleetmsg_read(n->engine.events->keys(n->engine.arg), w->data,
	    &m) == -1) {
		n->engine.counts.forged++;
		log_debug("engine: a question that no hub of ours signed");
		return;
	}
	if (!fleetmsg_is_timely(&m, now, n->skew) || (!nats_is_harmless(&m) &&
	    !replay_take(&n->done, m.nonce, (now + 2 * n->skew) / 1000 + 1,
	    now / 1000))) {
		n->engine.counts.replayed++;
		return;
	}
	if (memcmp(m.from, n->id, sizeof(n->id)) == 0)
		return;
	/* Answers go to hubs, whatever the question says. */
	if (w->reply.len > len + 7 && w->reply.len < sizeof(reply.subject) &&
	    span_begins(w->reply, n->prefix) &&
	    memcmp(w->reply.at + len, ".inbox.", 7) == 0) {
		memset(&reply, 0, sizeof(reply));
		memcpy(reply.subject, w->reply.at, w->reply.len);
		memcpy(reply.nonce, m.nonce, sizeof(reply.nonce));
		r = &reply;
	}
	nats_take_question(n, &m, r);
}

void
nats_on_message(void *arg, const struct natswire *w)
{
	struct engine_nats	*n = arg;
	struct span		 rest = w->subject;
	char			 inbox[NATSWIRE_SUBJECT_MAX + 1];
	size_t			 len;

	snprintf(inbox, sizeof(inbox), "%s.inbox.%s.", n->prefix, n->id_text);
	len = strlen(inbox);
	if (!span_begins(rest, inbox)) {
		nats_on_question(n, w);
		return;
	}
	rest.at += len;
	rest.len -= len;
	nats_on_answer(n, rest, w);
}
