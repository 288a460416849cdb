#include <stdlib.h>

#include "master/hub/relay/engine.h"

static int
local_claim(struct engine *e, const char *environment,
    const struct engine_place *p)
{
	(void)e;
	(void)environment;
	(void)p;
	return 0;
}

static void
local_release(struct engine *e, const char *environment)
{
	(void)e;
	(void)environment;
}

static void
local_where(struct engine *e, const char *environment, struct engine_ask *ask)
{
	(void)e;
	(void)environment;
	ask->engine = NULL;
	ask->fn(ask->arg, ENGINE_NOBODY, NULL);
}

static void
local_cancel(struct engine *e, struct engine_ask *ask)
{
	(void)e;
	ask->engine = NULL;
}

static void
local_tell(struct engine *e, const char *text, size_t len)
{
	(void)e;
	(void)text;
	(void)len;
}

static void
local_list(struct engine *e, const char *question, size_t len,
    void (*fn)(void *, const char *, size_t), void *arg)
{
	(void)e;
	(void)question;
	(void)len;
	fn(arg, NULL, 0);
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
	.claim = local_claim,
	.release = local_release,
	.where = local_where,
	.cancel = local_cancel,
	.tell = local_tell,
	.list = local_list,
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
