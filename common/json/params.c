#include "common/json/params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/uri.h"

#define GROUP(group)	const struct field fields_##group[] = {
#define FIELD(group, type, key, presence, member)			\
	{ key, FIELD_##type, FIELD_##presence,				\
	  offsetof(struct group##_params, member), NULL, NULL, 0, 0 },
#define MANY(group, type, key, presence, member, words)			\
	{ key, FIELD_##type, FIELD_##presence,				\
	  offsetof(struct group##_params, member), words, NULL, 0, 0 },
#define NESTED(group, inner, key, presence, member, words)		\
	{ key, FIELD_NESTED, FIELD_##presence,				\
	  offsetof(struct group##_params, member), words,		\
	  fields_##inner, sizeof(struct inner##_params), 1 },
#define EACH(group, inner, key, presence, member, noun, max)		\
	{ key, FIELD_EACH, FIELD_##presence,				\
	  offsetof(struct group##_params, member), noun,		\
	  fields_##inner, sizeof(struct inner##_params), max },
#define END(group)	{ .key = NULL } };
#include "proto/rpc_params.def"
#undef GROUP
#undef FIELD
#undef MANY
#undef NESTED
#undef EACH
#undef END

struct decoding {
	struct json		*j;
	bool			 native_paths;
	struct param_error	*e;
};

typedef int	 decode_fn(struct decoding *, const struct field *,
		    uint32_t tok, void *member);

static int	 decode_group(struct decoding *, uint32_t obj,
		    const struct field *, void *out, size_t size);

/* What a member should have been; -1 for the caller to return. */
static int
expected(struct decoding *d, const struct field *f, const char *what)
{
	snprintf(d->e->text, sizeof(d->e->text), "expected %s for \"%s\"",
	    what, f->key);
	return -1;
}

/* The words of the row instead of those of what is in it. */
static int
worded(struct decoding *d, const struct field *f)
{
	d->e->is_worded = true;
	snprintf(d->e->text, sizeof(d->e->text), "%s", f->words);
	return -1;
}

static int
no_memory(struct decoding *d)
{
	d->e->is_errno = true;
	snprintf(d->e->text, sizeof(d->e->text), "%s", strerror(errno));
	return -1;
}

static bool
is_a(const struct decoding *d, uint32_t tok, enum json_type type)
{
	return json_tok(d->j, tok)->type == type;
}

/* A string, which ends in the text with a quote at least: that becomes NUL. */
static void
take_text(struct decoding *d, uint32_t tok, struct param_text *t)
{
	t->s = d->j->text + json_tok(d->j, tok)->pos;
	t->len = json_tok(d->j, tok)->len;
	t->s[t->len] = '\0';
}

static int
decode_text(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	if (!is_a(d, tok, JSON_STRING))
		return expected(d, f, "a string");
	take_text(d, tok, member);
	return 0;
}

static int
decode_name(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_text	*t = member;

	if (decode_text(d, f, tok, member) == -1)
		return -1;
	if (strlen(t->s) != t->len)
		return expected(d, f, "a string without NUL");
	return 0;
}

static bool
is_uuid(const struct param_text *t)
{
	size_t	 i;

	if (t->len != 36)
		return false;
	for (i = 0; i < t->len; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (t->s[i] != '-')
				return false;
		} else if (memchr("0123456789abcdefABCDEF", t->s[i], 22) ==
		    NULL) {
			return false;
		}
	return true;
}

static int
decode_uuid(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	if (decode_text(d, f, tok, member) == -1)
		return -1;
	return is_uuid(member) ? 0 : expected(d, f, "a UUID");
}

static int
read_path(const struct param_text *t, bool native_paths,
    struct param_path *out)
{
	out->given = true;
	if (!native_paths || t->len == 0 || t->s[0] != '/' ||
	    t->len >= sizeof(out->path) || memchr(t->s, '\0', t->len) != NULL)
		return uri_to_path(t->s, t->len, out->path,
		    sizeof(out->path)) == -1 ? -1 : 0;
	memcpy(out->path, t->s, t->len);
	out->path[t->len] = '\0';
	return 0;
}

int
param_path(const struct json *j, uint32_t tok, bool native_paths,
    struct param_path *out)
{
	const struct json_tok	*t = json_tok(j, tok);
	struct param_text	 text = { j->text + t->pos, t->len };

	if (t->type == JSON_STRING)
		return read_path(&text, native_paths, out);
	errno = EINVAL;
	return -1;
}

static int
decode_uri(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_text	 text;

	if (decode_text(d, f, tok, &text) == -1)
		return -1;
	if (read_path(&text, d->native_paths, member) == 0)
		return 0;
	d->e->is_errno = errno != EINVAL;
	return expected(d, f, "a file: URI");
}

static int
decode_b64(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_text	*t = member;
	ssize_t			 n;

	if (decode_text(d, f, tok, member) == -1)
		return -1;
	if ((n = b64_decode(t->s, t->s, t->len)) == -1)
		return expected(d, f, "base64");
	t->len = (size_t)n;
	t->s[n] = '\0';
	return 0;
}

static int
decode_bool(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	if (!is_a(d, tok, JSON_TRUE) && !is_a(d, tok, JSON_FALSE))
		return expected(d, f, "a boolean");
	*(bool *)member = is_a(d, tok, JSON_TRUE);
	return 0;
}

static int
decode_off(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	bool	 b;

	if (decode_bool(d, f, tok, &b) == -1)
		return -1;
	*(bool *)member = !b;
	return 0;
}

static int
decode_u64(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_u64	*u = member;

	u->given = true;
	if (json_u64(d->j, tok, &u->n) == -1)
		return expected(d, f, "an unsigned integer");
	return 0;
}

static int
decode_u16(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	uint64_t	 n;

	if (json_u64(d->j, tok, &n) == -1 || n < 1 || n > UINT16_MAX)
		return expected(d, f, "an integer from 1 to 65535");
	*(uint16_t *)member = (uint16_t)n;
	return 0;
}

static int
decode_list(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	if (!is_a(d, tok, JSON_ARRAY))
		return expected(d, f, "a list");
	*(uint32_t *)member = tok;
	return 0;
}

static int
decode_object(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	if (!is_a(d, tok, JSON_OBJECT))
		return expected(d, f, "an object");
	*(uint32_t *)member = tok;
	return 0;
}

static int
decode_none(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	(void)member;
	if (is_a(d, tok, JSON_FALSE))
		return 0;
	return expected(d, f, "null: this server does not implement it");
}

/* --- lists and groups --- */

static int
decode_texts(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_texts	*l = member;
	uint32_t		 i, end = json_tok(d->j, tok)->next;

	if (!is_a(d, tok, JSON_ARRAY))
		return expected(d, f, "a list");
	/* A string is one token, anything else may be more. */
	if ((l->v = json_alloc(d->j, end - tok, sizeof(*l->v))) == NULL)
		return no_memory(d);
	for (i = json_first(tok); i < end; i++) {
		if (!is_a(d, i, JSON_STRING))
			return worded(d, f);
		take_text(d, i, &l->v[l->n++]);
	}
	return 0;
}

static int
decode_pairs(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_pairs	*l = member;
	uint32_t		 key, end = json_tok(d->j, tok)->next;

	if (!is_a(d, tok, JSON_OBJECT))
		return expected(d, f, "an object");
	if ((l->v = json_alloc(d->j, end - tok, sizeof(*l->v))) == NULL)
		return no_memory(d);
	for (key = json_first(tok); key < end; key += 2, l->n++) {
		if (!is_a(d, key + 1, JSON_STRING))
			return worded(d, f);
		take_text(d, key, &l->v[l->n].name);
		take_text(d, key + 1, &l->v[l->n].value);
	}
	return 0;
}

static int
decode_uris(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_paths	*l = member;
	struct param_texts	 texts = { 0, NULL };
	struct param_path	 p;
	size_t			 size;

	if (decode_texts(d, f, tok, &texts) == -1)
		return -1;
	if ((l->v = json_alloc(d->j, texts.n + 1, sizeof(*l->v))) == NULL)
		return no_memory(d);
	for (; l->n < texts.n; l->n++) {
		l->v[l->n] = NULL;
		if (read_path(&texts.v[l->n], d->native_paths, &p) == -1) {
			if (errno == EINVAL)
				return worded(d, f);
			continue;
		}
		size = strlen(p.path) + 1;
		if ((l->v[l->n] = json_alloc(d->j, size, 1)) == NULL)
			return no_memory(d);
		memcpy(l->v[l->n], p.path, size);
	}
	return 0;
}

static int
decode_keys(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_keys	*l = member;
	uint32_t		 i;
	size_t			 n = 0;

	if (!is_a(d, tok, JSON_ARRAY))
		return expected(d, f, "a list");
	for (i = json_first(tok); json_more(d->j, tok, i);
	    i = json_after_elem(d->j, i))
		n++;
	if ((l->v = json_alloc(d->j, n, sizeof(*l->v))) == NULL)
		return no_memory(d);
	for (i = json_first(tok); json_more(d->j, tok, i);
	    i = json_after_elem(d->j, i), l->n++) {
		l->v[l->n].n = 0;
		if (decode_texts(d, f, i, &l->v[l->n]) == -1)
			return d->e->is_errno ? -1 : worded(d, f);
		if (l->v[l->n].n == 0)
			return worded(d, f);
	}
	return 0;
}

static int
decode_nested(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	if (!is_a(d, tok, JSON_OBJECT))
		return expected(d, f, "an object");
	if (decode_group(d, tok, f->inner, member, f->size) == 0)
		return 0;
	/* A row in there may have had more to say. */
	if (f->words == NULL || d->e->is_worded || d->e->is_errno)
		return -1;
	return worded(d, f);
}

static int
decode_each(struct decoding *d, const struct field *f, uint32_t tok,
    void *member)
{
	struct param_each	*l = member;
	struct param_error	*e = d->e;
	uint32_t		 i;
	size_t			 n = 0, len;

	if (!is_a(d, tok, JSON_ARRAY))
		return expected(d, f, "a list");
	for (i = json_first(tok); json_more(d->j, tok, i);
	    i = json_after_elem(d->j, i))
		n++;
	if (n > f->max) {
		snprintf(e->text, sizeof(e->text), "too many %s", f->key);
		return -1;
	}
	if ((l->v = json_alloc(d->j, n + 1, f->size)) == NULL)
		return no_memory(d);
	for (i = json_first(tok); l->n < n; i = json_after_elem(d->j, i)) {
		if (!is_a(d, i, JSON_OBJECT)) {
			snprintf(e->text, sizeof(e->text),
			    "%s must be an object", f->words);
			return -1;
		}
		if (decode_group(d, i, f->inner,
		    (uint8_t *)l->v + l->n++ * f->size, f->size) == -1) {
			len = strlen(e->text);
			snprintf(e->text + len, sizeof(e->text) - len,
			    " in %s", f->words);
			return -1;
		}
	}
	return 0;
}

static decode_fn *const decoders[] = {
	[FIELD_TEXT] = decode_text,	[FIELD_NAME] = decode_name,
	[FIELD_UUID] = decode_uuid,	[FIELD_URI] = decode_uri,
	[FIELD_B64] = decode_b64,	[FIELD_BOOL] = decode_bool,
	[FIELD_U64] = decode_u64,	[FIELD_U16] = decode_u16,
	[FIELD_LIST] = decode_list,	[FIELD_OBJECT] = decode_object,
	[FIELD_NONE] = decode_none,	[FIELD_OFF] = decode_off,
	[FIELD_TEXTS] = decode_texts,	[FIELD_PAIRS] = decode_pairs,
	[FIELD_URIS] = decode_uris,	[FIELD_KEYS] = decode_keys,
	[FIELD_NESTED] = decode_nested,	[FIELD_EACH] = decode_each,
};

static int
decode_field(struct decoding *d, uint32_t obj, const struct field *f,
    uint8_t *out)
{
	uint32_t	 tok = obj == 0 ? 0 : json_find(d->j, obj, f->key);
	bool		 is_null = tok != 0 && is_a(d, tok, JSON_NULL);

	if (tok != 0 && (!is_null || f->presence == FIELD_NOTNULL))
		return decoders[f->type](d, f, tok, out + f->offset);
	if (f->presence != FIELD_NEEDED)
		return 0;
	snprintf(d->e->text, sizeof(d->e->text), "missing \"%s\"", f->key);
	return -1;
}

static int
decode_group(struct decoding *d, uint32_t obj, const struct field *f,
    void *out, size_t size)
{
	memset(out, 0, size);
	*(bool *)out = true;
	for (; f->key != NULL; f++)
		if (decode_field(d, obj, f, out) == -1)
			return -1;
	return 0;
}

bool
param_is(const struct param_text *t, const char *word)
{
	return t->s != NULL && t->len == strlen(word) &&
	    memcmp(t->s, word, t->len) == 0;
}

int
params_decode(struct json *j, uint32_t tok, const struct field *fields,
    void *out, size_t size, bool native_paths, struct param_error *e)
{
	struct decoding		 d = { j, native_paths, e };

	memset(e, 0, sizeof(*e));
	if (tok != 0 && json_tok(j, tok)->type == JSON_NULL)
		tok = 0;
	if (tok != 0 && json_tok(j, tok)->type != JSON_OBJECT) {
		snprintf(e->text, sizeof(e->text),
		    "expected an object as params");
		return -1;
	}
	return decode_group(&d, tok, fields, out, size);
}
