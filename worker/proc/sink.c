#include "worker/proc/sink.h"

#include <assert.h>

/* Where a walk over a list stands, which sinks leave meanwhile. */
struct sink_walk {
	struct sink		*next;
	struct sink_walk	*outer;
};

/* Call fn for each, whoever leaves meanwhile. */
static void
each(struct sinks *s, void (*fn)(struct sink *k, const void *arg),
    const void *arg)
{
	struct sink_walk	 w = { TAILQ_FIRST(&s->list), s->walks };
	struct sink		*k;

	s->walks = &w;
	while ((k = w.next) != NULL) {
		w.next = TAILQ_NEXT(k, entry);
		fn(k, arg);
	}
	s->walks = w.outer;
}

void
sinks_init(struct sinks *s)
{
	TAILQ_INIT(&s->list);
	s->walks = NULL;
}

void
sinks_fini(struct sinks *s)
{
	struct sink	*k;

	assert(s->walks == NULL);
	while ((k = TAILQ_FIRST(&s->list)) != NULL) {
		sink_remove(k);
		if (k->ops->on_gone != NULL)
			k->ops->on_gone(k);
	}
}

void
sink_add(struct sinks *s, struct sink *k, const struct sink_ops *ops)
{
	k->ops = ops;
	k->sinks = s;
	TAILQ_INSERT_TAIL(&s->list, k, entry);
}

void
sink_remove(struct sink *k)
{
	struct sink_walk	*w;

	for (w = k->sinks->walks; w != NULL; w = w->outer)
		if (w->next == k)
			w->next = TAILQ_NEXT(k, entry);
	TAILQ_REMOVE(&k->sinks->list, k, entry);
	k->sinks = NULL;
}

struct sink *
sinks_find(const struct sinks *s, const struct sink_ops *ops)
{
	struct sink	*k;

	TAILQ_FOREACH(k, &s->list, entry)
		if (k->ops == ops)
			return k;
	return NULL;
}

static void
tell_output(struct sink *k, const void *arg)
{
	if (k->ops->on_output != NULL)
		k->ops->on_output(k, arg);
}

void
sinks_output(struct sinks *s, const struct output *o)
{
	each(s, tell_output, o);
}

static void
tell_resize(struct sink *k, const void *arg)
{
	const uint16_t	*size = arg;

	if (k->ops->on_resize != NULL)
		k->ops->on_resize(k, size[0], size[1]);
}

void
sinks_resize(struct sinks *s, uint16_t rows, uint16_t cols)
{
	const uint16_t	 size[2] = { rows, cols };

	each(s, tell_resize, size);
}

static void
tell_exit(struct sink *k, const void *arg)
{
	(void)arg;
	if (k->ops->on_exit != NULL)
		k->ops->on_exit(k);
}

void
sinks_exit(struct sinks *s)
{
	each(s, tell_exit, NULL);
}

static void
tell_close(struct sink *k, const void *arg)
{
	(void)arg;
	if (k->ops->on_close != NULL)
		k->ops->on_close(k);
}

void
sinks_close(struct sinks *s)
{
	each(s, tell_close, NULL);
}

static void
tell_killed(struct sink *k, const void *arg)
{
	(void)arg;
	if (k->ops->on_killed != NULL)
		k->ops->on_killed(k);
}

void
sinks_killed(struct sinks *s)
{
	each(s, tell_killed, NULL);
}

static void
tell_renumber(struct sink *k, const void *arg)
{
	const uint64_t	*numbers = arg;

	if (k->ops->on_renumber != NULL)
		k->ops->on_renumber(k, numbers[0], numbers[1]);
}

void
sinks_renumber(struct sinks *s, uint64_t after, uint64_t by)
{
	const uint64_t	 numbers[2] = { after, by };

	each(s, tell_renumber, numbers);
}

bool
sinks_full(const struct sinks *s)
{
	const struct sink	*k;

	TAILQ_FOREACH(k, &s->list, entry)
		if (k->ops->is_full != NULL && k->ops->is_full(k))
			return true;
	return false;
}
