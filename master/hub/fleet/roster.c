#include "master/hub/fleet/roster.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void
roster_init(struct roster *r)
{
	memset(r, 0, sizeof(*r));
}

static void
roster_del(struct roster *r, size_t i)
{
	assert(i < r->n);
	r->hub[i] = r->hub[--r->n];
}

bool
roster_hello(struct roster *r, const uint8_t *id, struct span name,
    uint64_t now)
{
	char	 text[ROSTER_NAME_MAX + 1];
	size_t	 i;

	if (name.len == 0 || name.len > ROSTER_NAME_MAX || !span_is_text(name))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)name.len, name.at);
	for (i = 0; i < r->n; i++)
		if (memcmp(r->hub[i].id, id, ROSTER_ID_LEN) == 0) {
			r->hub[i].heard = now;
			return false;
		}
	/* It was started again. */
	for (i = 0; i < r->n; i++)
		if (strcmp(r->hub[i].name, text) == 0) {
			roster_del(r, i);
			break;
		}
	if (r->n == ROSTER_MAX)
		return false;
	memcpy(r->hub[r->n].id, id, ROSTER_ID_LEN);
	strcpy(r->hub[r->n].name, text);
	r->hub[r->n++].heard = now;
	return true;
}

void
roster_bye(struct roster *r, const uint8_t *id)
{
	size_t	 i;

	for (i = 0; i < r->n; i++)
		if (memcmp(r->hub[i].id, id, ROSTER_ID_LEN) == 0) {
			roster_del(r, i);
			return;
		}
}

void
roster_sweep(struct roster *r, uint64_t now)
{
	size_t	 i;

	for (i = r->n; i > 0; i--)
		if (now - r->hub[i - 1].heard >= ROSTER_FORGET)
			roster_del(r, i - 1);
}

const uint8_t *
roster_find(const struct roster *r, const char *name)
{
	size_t	 i;

	for (i = 0; i < r->n; i++)
		if (strcmp(r->hub[i].name, name) == 0)
			return r->hub[i].id;
	return NULL;
}

void
roster_expect(const struct roster *r, struct roster_wait *w)
{
	for (w->n = 0; w->n < r->n; w->n++)
		memcpy(w->id[w->n], r->hub[w->n].id, ROSTER_ID_LEN);
}

bool
roster_heard(struct roster_wait *w, const uint8_t *id)
{
	size_t	 i;

	for (i = 0; i < w->n; i++)
		if (memcmp(w->id[i], id, ROSTER_ID_LEN) == 0) {
			memcpy(w->id[i], w->id[--w->n], ROSTER_ID_LEN);
			break;
		}
	return w->n == 0;
}
