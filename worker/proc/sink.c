#include "worker/proc/sink.h"

#include <assert.h>

/* A position in a list from which sinks may be removed meanwhile. */
struct sink_walk {
	struct sink		*next;
	struct sink_walk	*outer;
};

/* Call a row of each sink; any may leave in any call. */
#define CALL_SINKS(s, row, args)					\
	do {								\
		struct sink_walk	 w = { TAILQ_FIRST(&(s)->list),	\
					       (s)->walks };		\
		struct sink		*k;				\
									\
		(s)->walks = &w;					\
		while ((k = w.next) != NULL) {				\
			w.next = TAILQ_NEXT(k, entry);			\
			if (k->ops->row != NULL)			\
				k->ops->row args;			\
		}							\
		(s)->walks = w.outer;					\
	} while (0)

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
	assert(k->sinks == NULL);
	k->ops = ops;
	k->sinks = s;
	TAILQ_INSERT_TAIL(&s->list, k, entry);
}

void
sink_remove(struct sink *k)
{
	struct sink_walk	*w;

	assert(k->sinks != NULL);
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

void
sinks_output(struct sinks *s, const struct output *o)
{
	CALL_SINKS(s, on_output, (k, o));
}

void
sinks_resize(struct sinks *s, uint16_t rows, uint16_t cols)
{
	CALL_SINKS(s, on_resize, (k, rows, cols));
}

void
sinks_exit(struct sinks *s)
{
	CALL_SINKS(s, on_exit, (k));
}

void
sinks_close(struct sinks *s)
{
	CALL_SINKS(s, on_close, (k));
}

void
sinks_killed(struct sinks *s)
{
	CALL_SINKS(s, on_killed, (k));
}

void
sinks_renumber(struct sinks *s, uint64_t after, uint64_t by)
{
	CALL_SINKS(s, on_renumber, (k, after, by));
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
