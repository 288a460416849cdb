#include "master/hub/admit/subject.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURST		10	/* seconds of requests that may come at once */
#define ONE		1000	/* request */
#define FORGET_MS	60000

void
subjects_init(struct subjects *all)
{
	map_init(&all->map);
}

static void
subject_free(struct subject *s)
{
	assert(s->refs == 0 && s->executors == 0 && s->harnesses == 0);
	map_del(&s->all->map, &s->node);
	free(s);
}

size_t
subjects_sweep(struct subjects *all, uint64_t now)
{
	struct subject	*s, *next;
	size_t		 found = 0;

	for (s = map_first(&all->map); s != NULL; s = next) {
		next = map_next(&all->map, &s->node);
		if (s->refs > 0 || now - s->requests_at < FORGET_MS)
			continue;
		subject_free(s);
		found++;
	}
	return found;
}

void
subjects_fini(struct subjects *all)
{
	struct subject	*s;

	while ((s = map_first(&all->map)) != NULL)
		subject_free(s);
	map_fini(&all->map);
}

struct subject *
subject_ref(struct subjects *all, const char *name)
{
	struct subject	*s;

	if ((s = map_find(&all->map, name, strlen(name))) != NULL)
		return subject_share(s);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->all = all;
	s->refs = 1;
	snprintf(s->name, sizeof(s->name), "%s", name);
	if (map_add(&all->map, &s->node, s->name, strlen(s->name), s) == -1) {
		free(s);
		return NULL;
	}
	return s;
}

struct subject *
subject_share(struct subject *s)
{
	s->refs++;
	return s;
}

void
subject_unref(struct subject **sp)
{
	struct subject	*s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	assert(s->refs > 0);
	s->refs--;
}

unsigned
subject_ask(struct subject *s, uint64_t rate, uint64_t now)
{
	uint64_t	 most = rate * BURST * ONE;

	if (s->requests_at == 0)
		s->requests = most;
	else
		s->requests += (now - s->requests_at) * rate;
	s->requests_at = now;
	if (s->requests > most)
		s->requests = most;
	if (s->requests < ONE)
		return 1;
	s->requests -= ONE;
	return 0;
}

uint64_t
subject_room(struct subject *s, uint64_t rate, uint64_t now)
{
	int64_t	 most = (int64_t)rate;

	if (s->bytes_at == 0)
		s->bytes = most;
	else
		s->bytes += (int64_t)((now - s->bytes_at) * rate / 1000);
	s->bytes_at = now;
	if (s->bytes > most)
		s->bytes = most;
	return s->bytes > 0 ? (uint64_t)s->bytes : 0;
}

uint64_t
subject_send(struct subject *s, uint64_t rate, int64_t n, uint64_t now)
{
	if (rate == 0)
		return 0;
	subject_room(s, rate, now);
	s->bytes -= n;
	return s->bytes >= 0 ? 0 :
	    (uint64_t)(-s->bytes) * 1000 / rate + 1;
}
