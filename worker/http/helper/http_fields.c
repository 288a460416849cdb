#include "worker/http/helper/http_fields.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COST	4	/* bytes of a line besides name and value */

static const char *const credentials[] = {
	"authorization", "cookie", "cookie2", "host", "proxy-authorization",
	"www-authenticate", NULL
};

static const char *const content[] = {
	"content-encoding", "content-length", "content-type",
	"transfer-encoding", NULL
};

void
http_fields_init(struct http_fields *f)
{
	TAILQ_INIT(&f->list);
	f->n = f->size = 0;
}

static void
del(struct http_fields *f, struct http_field *e)
{
	assert(f->n > 0 && f->size >= COST);
	TAILQ_REMOVE(&f->list, e, entry);
	f->n--;
	f->size -= strlen(e->name) + strlen(e->value) + COST;
	free(e->name);
	free(e->value);
	free(e);
}

void
http_fields_clear(struct http_fields *f)
{
	struct http_field	*e;

	while ((e = TAILQ_FIRST(&f->list)) != NULL)
		del(f, e);
}

static int
http_fields_append(struct http_fields *f, const char *name, size_t nlen,
    const char *value, size_t vlen, bool is_secret)
{
	struct http_field	*e;
	char		*p;

	if ((e = calloc(1, sizeof(*e))) == NULL)
		return -1;
	if ((e->name = strndup(name, nlen)) == NULL ||
	    (e->value = strndup(value, vlen)) == NULL) {
		free(e->name);
		free(e);
		return -1;
	}
	for (p = e->name; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	e->is_secret = is_secret;
	TAILQ_INSERT_TAIL(&f->list, e, entry);
	f->n++;
	f->size += strlen(e->name) + strlen(e->value) + COST;
	return 0;
}

int
http_fields_add(struct http_fields *f, const char *name, const char *value,
    bool is_secret)
{
	return http_fields_append(f, name, strlen(name), value, strlen(value),
	    is_secret);
}

const struct http_field *
http_fields_find(const struct http_fields *f, const char *name)
{
	const struct http_field	*e;

	TAILQ_FOREACH(e, &f->list, entry)
		if (strcmp(e->name, name) == 0)
			return e;
	return NULL;
}

void
http_fields_drop(struct http_fields *f, const char *name)
{
	struct http_field	*e, *next;

	for (e = TAILQ_FIRST(&f->list); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (strcmp(e->name, name) == 0)
			del(f, e);
	}
}

static void
http_fields_drop_all(struct http_fields *f, const char *const *names)
{
	for (; *names != NULL; names++)
		http_fields_drop(f, *names);
}

void
http_fields_drop_credentials(struct http_fields *f)
{
	struct http_field	*e, *next;

	http_fields_drop_all(f, credentials);
	for (e = TAILQ_FIRST(&f->list); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (e->is_secret)
			del(f, e);
	}
}

void
http_fields_drop_content(struct http_fields *f)
{
	http_fields_drop_all(f, content);
}

static bool
http_fields_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int
http_fields_read(struct http_fields *f, const char *line, size_t len,
    size_t max)
{
	const char	*colon, *value, *end = line + len;

	if (memchr(line, '\0', len) != NULL ||
	    (colon = memchr(line, ':', len)) == NULL || colon == line)
		return 1;
	for (value = colon + 1; value < end && http_fields_is_blank(*value);
	    value++)
		continue;
	while (end > value && http_fields_is_blank(end[-1]))
		end--;
	if ((size_t)(colon - line) + (size_t)(end - value) > max)
		return 1;
	return http_fields_append(f, line, (size_t)(colon - line), value,
	    (size_t)(end - value), false);
}
