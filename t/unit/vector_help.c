#include "t/unit/vector_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
broken(const char *what)
{
	fprintf(stderr, "vectors: %s\n", what);
	abort();
}

void
vectors_open(struct vectors *v, const char *name)
{
	const char	*top = getenv("SRCDIR");
	char		 path[4096];
	FILE		*f;
	long		 len;

	snprintf(path, sizeof(path), "%s/t/unit/vectors/%s.json",
	    top == NULL ? "." : top, name);
	if ((f = fopen(path, "r")) == NULL || fseek(f, 0, SEEK_END) != 0 ||
	    (len = ftell(f)) <= 0 || fseek(f, 0, SEEK_SET) != 0)
		broken(path);
	if ((v->text = malloc((size_t)len)) == NULL ||
	    fread(v->text, 1, (size_t)len, f) != (size_t)len)
		broken("cannot be read");
	fclose(f);
	json_init(&v->j);
	if (json_parse(&v->j, v->text, (size_t)len) == -1)
		broken("no JSON");
}

void
vectors_close(struct vectors *v)
{
	json_fini(&v->j);
	free(v->text);
}

uint32_t
vectors_find(const struct vectors *v, uint32_t up, const char *keys)
{
	char	 key[64];
	size_t	 n;

	for (;;) {
		n = strcspn(keys, ".");
		snprintf(key, sizeof(key), "%.*s", (int)n, keys);
		if ((up = json_find(&v->j, up, key)) == 0)
			broken(key);
		if (keys[n] == '\0')
			return up;
		keys += n + 1;
	}
}

struct vector *
vectors_hex(const struct vectors *v, uint32_t i)
{
	const struct json_tok	*t = json_tok(&v->j, i);
	const char		*text = json_text(&v->j, i);
	struct vector		*b = calloc(1, sizeof(*b));
	unsigned		 byte;

	if (b == NULL || t->type != JSON_STRING || t->len % 2 != 0 ||
	    t->len / 2 > sizeof(b->data))
		broken("not hex");
	for (b->len = 0; b->len < t->len / 2; b->len++) {
		if (sscanf(text + 2 * b->len, "%2x", &byte) != 1)
			broken("not hex");
		b->data[b->len] = (uint8_t)byte;
	}
	return b;
}

uint64_t
vectors_number(const struct vectors *v, uint32_t i)
{
	uint64_t	 n;

	if (json_u64(&v->j, i, &n) == -1)
		broken("no number");
	return n;
}

void
vectors_get(const struct vectors *v, const char *keys, void *out, size_t len)
{
	struct vector	*b = vectors_hex(v, vectors_find(v, 0, keys));

	if (b->len != len)
		broken(keys);
	memcpy(out, b->data, len);
	free(b);
}

int
vectors_is(const struct vectors *v, uint32_t up, const char *keys,
    const void *data, size_t len)
{
	struct vector	*b = vectors_hex(v, vectors_find(v, up, keys));
	int		 r;

	r = b->len == len && memcmp(b->data, data, len) == 0;
	free(b);
	return r;
}
