#include "master/hub/fleet/engine_nats.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "master/hub/fleet/engine_nats_priv.h"

#define PIECE		(256 * 1024)	/* of rows, in a message */
#define AHEAD		(256 * 1024)	/* bytes of claims that wait */
#define HELLO_MS	5000

static void	 nats_on_up(void *arg);
static void	 nats_on_down(void *arg);
static void	 nats_on_drained(void *arg);

static const struct natslink_events nats_link_events = {
	nats_on_up, nats_on_down, nats_on_message, nats_on_drained
};

bool
engine_nats_is_prefix(const char *text)
{
	return strlen(text) <= ENGINE_PREFIX_MAX && natswire_is_subject(
	    (struct span){ text, strlen(text) });
}

/*
 * Subjects are, below PREFIX:
 *
 *	env.ENVIRONMENT		the hub that has it ("." is "=" there)
 *	hub.all, hub.ID		all hubs, one of them
 *	inbox.ID.NUMBER		an answer to one of them
 */

/* --- subjects --- */

/* "." would divide the subject. */
void
nats_name(const char *environment, char out[ENVIRONMENT_MAX + 1])
{
	size_t	 i;

	for (i = 0; i < ENVIRONMENT_MAX && environment[i] != '\0'; i++)
		out[i] = environment[i] == '.' ? '=' : environment[i];
	out[i] = '\0';
}

void
nats_subject(const struct engine_nats *n, const char *kind, const char *what,
    char out[NATSWIRE_SUBJECT_MAX + 1])
{
	int	 len = snprintf(out, NATSWIRE_SUBJECT_MAX + 1, "%s.%s.%s",
		    n->prefix, kind, what);

	assert(len > 0 && len <= NATSWIRE_SUBJECT_MAX);
}

void
nats_subject_env(const struct engine_nats *n, const char *environment,
    char out[NATSWIRE_SUBJECT_MAX + 1])
{
	char	 name[ENVIRONMENT_MAX + 1];

	nats_name(environment, name);
	nats_subject(n, "env", name, out);
}

/* --- saying --- */

/* Append a message; nonce NULL: a new one. */
int
nats_put(struct engine_nats *n, struct buf *out, const char *subject,
    const char *reply, enum fleetmsg_kind kind, const uint8_t *nonce,
    const char *environment, struct span body)
{
	struct fleetmsg	 m = { .kind = kind, .made = clock_wall_ms(),
			    .body = body };
	struct buf	 b;
	int		 r;

	memcpy(m.from, n->id, sizeof(m.from));
	if (nonce != NULL)
		memcpy(m.nonce, nonce, sizeof(m.nonce));
	else
		randombytes_buf(m.nonce, sizeof(m.nonce));
	snprintf(m.environment, sizeof(m.environment), "%s", environment);
	buf_init(&b, NATSWIRE_DATA_MAX);
	r = fleetmsg_write(n->engine.events->keys(n->engine.arg), &m, &b);
	if (r == 0)
		r = natswire_pub(out, subject, reply, buf_data(&b), b.len);
	buf_fini(&b);
	return r;
}

static void
nats_say(struct engine_nats *n, const char *subject, const char *reply,
    enum fleetmsg_kind kind, const uint8_t *nonce, const char *environment,
    struct span body)
{
	struct buf	 b;

	if (!natslink_is_up(n->link))
		return;
	buf_init(&b, 2 * NATSWIRE_DATA_MAX);
	if (nats_put(n, &b, subject, reply, kind, nonce, environment, body) ==
	    0)
		natslink_send(n->link, &b);
	else
		log_warn("engine");
	buf_fini(&b);
}

void
nats_answer(struct engine_nats *n, const char *environment,
    const struct engine_reply *r, enum fleetmsg_kind kind, struct span body)
{
	nats_say(n, r->subject, NULL, kind, r->nonce, environment, body);
}

void
nats_hello(struct engine_nats *n, const char *to)
{
	char	 subject[NATSWIRE_SUBJECT_MAX + 1];

	nats_subject(n, "hub", to, subject);
	nats_say(n, subject, NULL, FLEETMSG_HELLO, NULL, "",
	    (struct span){ n->name, strlen(n->name) });
}

static void
nats_on_hello_turn(void *arg)
{
	struct engine_nats	*n = arg;

	roster_sweep(&n->roster, clock_ms());
	nats_hello(n, "all");
	timer_set(&n->hello, HELLO_MS);
}

/* --- answers of ours --- */

static void
nats_place(struct engine *e, const char *environment,
    const struct engine_reply *r, const struct engine_place *p)
{
	struct buf	 b;

	buf_init(&b, 4096);
	if (fleetmsg_put_place(&b, p) == -1)
		log_warn("engine");
	else
		nats_answer(nats_of(e), environment, r, FLEETMSG_PLACE,
		    (struct span){ (const char *)buf_data(&b), b.len });
	buf_fini(&b);
}

static void
nats_yielded(struct engine *e, const char *environment,
    const struct engine_reply *r)
{
	nats_answer(nats_of(e), environment, r, FLEETMSG_YIELDED,
	    (struct span){ NULL, 0 });
}

static void
nats_kept(struct engine *e, const char *environment,
    const struct engine_reply *r)
{
	nats_answer(nats_of(e), environment, r, FLEETMSG_KEPT,
	    (struct span){ NULL, 0 });
}

/* Whole lines, in messages that a server takes. */
static void
nats_rows(struct engine *e, const char *environment,
    const struct engine_reply *r, struct span text)
{
	struct span	 piece;

	while (text.len > PIECE) {
		piece = (struct span){ text.at, PIECE };
		while (piece.len > 0 && piece.at[piece.len - 1] != '\n')
			piece.len--;
		assert(piece.len > 0);
		nats_answer(nats_of(e), environment, r, FLEETMSG_ROWS, piece);
		text.at += piece.len;
		text.len -= piece.len;
	}
	nats_answer(nats_of(e), environment, r, FLEETMSG_END, text);
}

/* --- what we have --- */

int
nats_put_hold(const struct engine_nats *n, struct buf *b,
    const char *environment, char subject[NATSWIRE_SUBJECT_MAX + 1])
{
	char	 name[ENVIRONMENT_MAX + 1];

	nats_name(environment, name);
	nats_subject(n, "env", name, subject);
	return natswire_sub(b, subject, name);
}

static void
nats_hold(struct engine *e, const char *environment)
{
	struct engine_nats	*n = nats_of(e);
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];
	struct buf		 b;

	if (!natslink_is_up(n->link))
		return;
	buf_init(&b, 1024);
	if (nats_put_hold(n, &b, environment, subject) == 0)
		natslink_send(n->link, &b);
	buf_fini(&b);
}

static void
nats_release(struct engine *e, const char *environment)
{
	struct engine_nats	*n = nats_of(e);
	char			 name[ENVIRONMENT_MAX + 1];
	struct buf		 b;

	/* Another attempt that is under way holds it. */
	if (!natslink_is_up(n->link) || map_find(&n->claims, environment,
	    strlen(environment)) != NULL)
		return;
	nats_name(environment, name);
	buf_init(&b, 1024);
	if (natswire_unsub(&b, name) == 0)
		natslink_send(n->link, &b);
	buf_fini(&b);
}

static void
nats_evict(struct engine *e, const uint8_t *registration)
{
	struct engine_nats	*n = nats_of(e);
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];

	nats_subject(n, "hub", "all", subject);
	nats_say(n, subject, NULL, FLEETMSG_EVICTED, NULL, "", (struct span){
	    (const char *)registration, REGISTRATION_LEN });
}

/* --- up, and down --- */

static void
nats_note(void *arg, const char *environment)
{
	struct engine_nats	*n = arg;

	if (buf_put(&n->again, environment, strlen(environment) + 1) == -1)
		log_warn("engine: %s is not found by other hubs", environment);
}

static int
nats_put_again(struct engine_nats *n, struct buf *b, const char *environment)
{
	struct engine_claim	 c;
	struct buf		 body;
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];
	int			 r;

	/* It may be gone meanwhile. */
	if (!n->engine.events->claim_of(n->engine.arg, environment, &c))
		return 0;
	c.is_again = true;
	buf_init(&body, 1024);
	r = fleetmsg_put_claim(&body, &c);
	if (r == 0)
		r = nats_put_hold(n, b, environment, subject);
	if (r == 0)
		r = nats_put(n, b, subject, NULL, FLEETMSG_CLAIM, NULL,
		    environment, (struct span){
		    (const char *)buf_data(&body), body.len });
	buf_fini(&body);
	return r;
}

static void
nats_again(struct engine *e, const char *environment)
{
	struct engine_nats	*n = nats_of(e);
	struct buf		 b;

	buf_init(&b, 4096);
	if (nats_put_again(n, &b, environment) == 0)
		natslink_send(n->link, &b);
	buf_fini(&b);
}

/* Claim again what we have, as fast as the server takes it. */
static void
nats_claim_again(struct engine_nats *n)
{
	struct buf	 b;
	const char	*name;

	buf_init(&b, AHEAD + 4096);
	while (n->again.len > 0 &&
	    b.len + natslink_queued(n->link) < AHEAD) {
		name = (const char *)buf_data(&n->again);
		if (nats_put_again(n, &b, name) == -1)
			log_warn("engine");
		buf_drain(&n->again, strlen(name) + 1);
	}
	natslink_send(n->link, &b);
	buf_fini(&b);
	if (n->again.len == 0)
		buf_trim(&n->again, 0);
}

static void
nats_on_up(void *arg)
{
	struct engine_nats	*n = arg;
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];
	struct buf		 b;

	buf_init(&b, 4096);
	nats_subject(n, "hub", "all", subject);
	if (natswire_sub(&b, subject, ".all") == -1)
		log_warn("engine");
	nats_subject(n, "hub", n->id_text, subject);
	if (natswire_sub(&b, subject, ".me") == -1)
		log_warn("engine");
	snprintf(subject, sizeof(subject), "%s.inbox.%s.*", n->prefix,
	    n->id_text);
	if (natswire_sub(&b, subject, ".in") == -1)
		log_warn("engine");
	natslink_send(n->link, &b);
	buf_fini(&b);
	nats_on_hello_turn(n);
	n->engine.events->each(n->engine.arg, nats_note, n);
	n->engine.events->state(n->engine.arg, true);
	nats_claim_again(n);
}

static void
nats_on_down(void *arg)
{
	struct engine_nats	*n = arg;
	struct nats_pending	*p;

	timer_stop(&n->hello);
	buf_drain(&n->again, n->again.len);
	buf_trim(&n->again, 0);
	n->engine.events->state(n->engine.arg, false);
	/* Whoever is told may ask again, which is answered at once. */
	assert(!natslink_is_up(n->link));
	while ((p = map_first(&n->pending)) != NULL)
		nats_finish(p, ENGINE_DOWN, NULL, 1);
	assert(n->claims.count == 0);
}

static void
nats_on_drained(void *arg)
{
	struct engine_nats	*n = arg;

	if (n->again.len > 0)
		nats_claim_again(n);
}

static bool
nats_is_up(const struct engine *e)
{
	return natslink_is_up(((const struct engine_nats *)e)->link);
}

/* --- life --- */

static void
nats_free(struct engine *e)
{
	struct engine_nats	*n = nats_of(e);
	char			 subject[NATSWIRE_SUBJECT_MAX + 1];
	struct nats_pending	*p;

	nats_subject(n, "hub", "all", subject);
	nats_say(n, subject, NULL, FLEETMSG_BYE, NULL, "",
	    (struct span){ NULL, 0 });
	while ((p = map_first(&n->pending)) != NULL)
		nats_pending_free(p);
	assert(n->claims.count == 0);
	map_fini(&n->pending);
	map_fini(&n->claims);
	timer_stop(&n->hello);
	replay_fini(&n->done);
	buf_fini(&n->again);
	natslink_free(&n->link);
	free(n);
}

static const struct engine_ops nats_ops = {
	.hold = nats_hold,
	.release = nats_release,
	.claim = nats_claim,
	.claim_again = nats_again,
	.where = nats_where,
	.cancel = nats_cancel,
	.place = nats_place,
	.yielded = nats_yielded,
	.kept = nats_kept,
	.rows = nats_rows,
	.request = nats_request,
	.cancel_request = nats_cancel_request,
	.evict = nats_evict,
	.is_up = nats_is_up,
	.free = nats_free,
};

struct engine *
engine_nats_new(const struct engine_nats_how *how,
    const struct engine_events *events, void *arg)
{
	struct engine_nats	*n;

	if ((n = calloc(1, sizeof(*n))) == NULL)
		return NULL;
	n->engine.ops = &nats_ops;
	n->engine.events = events;
	n->engine.arg = arg;
	n->engine.is_shared = true;
	n->skew = how->skew;
	snprintf(n->prefix, sizeof(n->prefix), "%s", how->prefix);
	snprintf(n->name, sizeof(n->name), "%s", how->link.name);
	randombytes_buf(n->id, sizeof(n->id));
	sodium_bin2hex(n->id_text, sizeof(n->id_text), n->id, sizeof(n->id));
	map_init(&n->pending);
	map_init(&n->claims);
	replay_init(&n->done);
	roster_init(&n->roster);
	buf_init(&n->again, SIZE_MAX / 2);
	timer_init(&n->hello, how->link.base, nats_on_hello_turn, n);
	if ((n->link = natslink_new(&how->link, &nats_link_events, n)) ==
	    NULL) {
		map_fini(&n->pending);
		map_fini(&n->claims);
		replay_fini(&n->done);
		free(n);
		return NULL;
	}
	return &n->engine;
}
