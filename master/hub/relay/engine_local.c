#include <stdlib.h>

#include "master/hub/relay/engine.h"

/* There is nobody to ask, and nobody to answer. */

static void
local_note(struct engine *e, const char *environment)
{
	(void)e;
	(void)environment;
}

static void
local_claim(struct engine *e, const char *environment,
    const struct engine_claim *c, struct engine_ask *ask)
{
	(void)e;
	(void)environment;
	(void)c;
	ask->pending = NULL;
	ask->fn(ask->arg, ENGINE_NOBODY, NULL);
}

static void
local_where(struct engine *e, const char *environment, const uint8_t *key_hash,
    struct engine_ask *ask)
{
	(void)e;
	(void)environment;
	(void)key_hash;
	ask->pending = NULL;
	ask->fn(ask->arg, ENGINE_NOBODY, NULL);
}

static void
local_cancel(struct engine *e, struct engine_ask *ask)
{
	(void)e;
	ask->pending = NULL;
}

static void
local_request(struct engine *e, const char *environment, const char *hub,
    struct span text, struct engine_request *q)
{
	(void)e;
	(void)environment;
	(void)hub;
	(void)text;
	q->pending = NULL;
	q->fn(q->arg, (struct span){ NULL, 0 }, 0);
}

static void
local_cancel_request(struct engine *e, struct engine_request *q)
{
	(void)e;
	q->pending = NULL;
}

static void
local_evict(struct engine *e, const uint8_t *registration)
{
	(void)e;
	(void)registration;
}

static bool
local_is_up(const struct engine *e)
{
	(void)e;
	return true;
}

static void
local_free(struct engine *e)
{
	free(e);
}

static const struct engine_ops local_ops = {
	.hold = local_note,
	.release = local_note,
	.claim = local_claim,
	.where = local_where,
	.cancel = local_cancel,
	.request = local_request,
	.cancel_request = local_cancel_request,
	.evict = local_evict,
	.is_up = local_is_up,
	.free = local_free,
};

struct engine *
engine_local_new(const struct engine_events *events, void *arg)
{
	struct engine	*e;

	if ((e = calloc(1, sizeof(*e))) == NULL)
		return NULL;
	e->ops = &local_ops;
	e->events = events;
	e->arg = arg;
	return e;
}
