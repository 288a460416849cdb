#include "common/json/params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/uri.h"

#define GROUP(group)	const struct field fields_##group[] = {
#define FIELD(group, type, key, presence, member)			\
	{ key, FIELD_##type, FIELD_##presence,				\
	  offsetof(struct group##_params, member) },
#define END(group)	{ NULL, FIELD_NONE, FIELD_OPTIONAL, 0 } };
#include "proto/rpc_params.def"
#undef GROUP
#undef FIELD
#undef END

struct decoding {
	struct json		*j;
	bool			 native_paths;
	struct param_error	*e;
};

typedef int	 decode_fn(struct decoding *, uint32_t tok, void *member);

/* What a member should have been; -1 for the caller to return. */
static int
expected(struct decoding *d, const char *what)
{
	snprintf(d->e->text, sizeof(d->e->text), "expected %s", what);
	return -1;
}

static int
decode_text(struct decoding *d, uint32_t tok, void *member)
{
	struct param_text	*t = member;

	if (json_tok(d->j, tok)->type != JSON_STRING)
		return expected(d, "a string");
	t->s = d->j->text + json_tok(d->j, tok)->pos;
	t->len = json_tok(d->j, tok)->len;
	return 0;
}

static int
decode_name(struct decoding *d, uint32_t tok, void *member)
{
	struct param_text	*t = member;

	if (decode_text(d, tok, member) == -1)
		return -1;
	if (memchr(t->s, '\0', t->len) != NULL)
		return expected(d, "a string without NUL");
	return 0;
}

int
param_path(const struct json *j, uint32_t tok, bool native_paths,
    struct param_path *out)
{
	const char	*s = json_text(j, tok);
	size_t		 len = json_tok(j, tok)->len;

	out->given = true;
	if (json_tok(j, tok)->type != JSON_STRING) {
		errno = EINVAL;
		return -1;
	}
	if (native_paths && len > 0 && s[0] == '/' &&
	    len < sizeof(out->path) && memchr(s, '\0', len) == NULL) {
		memcpy(out->path, s, len);
		out->path[len] = '\0';
		return 0;
	}
	return uri_to_path(s, len, out->path, sizeof(out->path)) == -1 ? -1 : 0;
}

static int
decode_uri(struct decoding *d, uint32_t tok, void *member)
{
	if (json_tok(d->j, tok)->type != JSON_STRING)
		return expected(d, "a string");
	if (param_path(d->j, tok, d->native_paths, member) == 0)
		return 0;
	d->e->is_path = errno != EINVAL;
	return expected(d, "a file: URI");
}

static int
decode_b64(struct decoding *d, uint32_t tok, void *member)
{
	struct param_text	*t = member;
	ssize_t			 n;

	if (decode_text(d, tok, member) == -1)
		return -1;
	if ((n = b64_decode(t->s, t->s, t->len)) == -1)
		return expected(d, "base64");
	t->len = (size_t)n;
	return 0;
}

static int
decode_bool(struct decoding *d, uint32_t tok, void *member)
{
	uint32_t	 type = json_tok(d->j, tok)->type;

	if (type != JSON_TRUE && type != JSON_FALSE)
		return expected(d, "a boolean");
	*(bool *)member = type == JSON_TRUE;
	return 0;
}

static int
decode_off(struct decoding *d, uint32_t tok, void *member)
{
	bool	 b;

	if (decode_bool(d, tok, &b) == -1)
		return -1;
	*(bool *)member = !b;
	return 0;
}

static int
decode_u64(struct decoding *d, uint32_t tok, void *member)
{
	struct param_u64	*u = member;

	u->given = true;
	if (json_u64(d->j, tok, &u->n) == -1)
		return expected(d, "an unsigned integer");
	return 0;
}

static int
decode_u16(struct decoding *d, uint32_t tok, void *member)
{
	uint64_t	 n;

	if (json_u64(d->j, tok, &n) == -1 || n < 1 || n > UINT16_MAX)
		return expected(d, "an integer from 1 to 65535");
	*(uint16_t *)member = (uint16_t)n;
	return 0;
}

static int
decode_list(struct decoding *d, uint32_t tok, void *member)
{
	if (json_tok(d->j, tok)->type != JSON_ARRAY)
		return expected(d, "a list");
	*(uint32_t *)member = tok;
	return 0;
}

static int
decode_object(struct decoding *d, uint32_t tok, void *member)
{
	if (json_tok(d->j, tok)->type != JSON_OBJECT)
		return expected(d, "an object");
	*(uint32_t *)member = tok;
	return 0;
}

static int
decode_none(struct decoding *d, uint32_t tok, void *member)
{
	(void)member;
	if (json_tok(d->j, tok)->type == JSON_FALSE)
		return 0;
	return expected(d, "null: this server does not implement it");
}

static decode_fn *const decoders[] = {
	[FIELD_TEXT] = decode_text,	[FIELD_NAME] = decode_name,
	[FIELD_URI] = decode_uri,	[FIELD_B64] = decode_b64,
	[FIELD_BOOL] = decode_bool,	[FIELD_U64] = decode_u64,
	[FIELD_U16] = decode_u16,	[FIELD_LIST] = decode_list,
	[FIELD_OBJECT] = decode_object,	[FIELD_NONE] = decode_none,
	[FIELD_OFF] = decode_off,
};

static int
decode_field(struct decoding *d, uint32_t obj, const struct field *f,
    uint8_t *out)
{
	uint32_t	 tok = obj == 0 ? 0 : json_find(d->j, obj, f->key);
	bool		 is_null;
	size_t		 n;

	is_null = tok != 0 && json_tok(d->j, tok)->type == JSON_NULL;
	if (tok == 0 || (is_null && f->presence != FIELD_NOTNULL)) {
		if (f->presence != FIELD_NEEDED)
			return 0;
		snprintf(d->e->text, sizeof(d->e->text), "missing \"%s\"",
		    f->key);
		return -1;
	}
	if (decoders[f->type](d, tok, out + f->offset) == 0)
		return 0;
	n = strlen(d->e->text);
	snprintf(d->e->text + n, sizeof(d->e->text) - n, " for \"%s\"",
	    f->key);
	return -1;
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
	const struct field	*f;

	memset(out, 0, size);
	memset(e, 0, sizeof(*e));
	if (tok != 0 && json_tok(j, tok)->type == JSON_NULL)
		tok = 0;
	if (tok != 0 && json_tok(j, tok)->type != JSON_OBJECT)
		return expected(&d, "an object as params");
	for (f = fields; f->key != NULL; f++)
		if (decode_field(&d, tok, f, out) == -1)
			return -1;
	return 0;
}
