/* Any JSON object as the parameters of every group: members within bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/params.h"
#include "common/json/utf8.h"

#define MUST(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct {
	const struct field	*fields;
	size_t			 size;
} groups[] = {
#define GROUP(group)	{ fields_##group, sizeof(struct group##_params) },
#define FIELD(group, type, key, presence, member)
#define MANY(group, type, key, presence, member, words)
#define NESTED(group, inner, key, presence, member, words)
#define EACH(group, inner, key, presence, member, noun, max)
#define END(group)
#include "proto/rpc_params.def"
#undef GROUP
#undef FIELD
#undef MANY
#undef NESTED
#undef EACH
#undef END
};

static void	 check_group(const struct json *, const struct field *,
		    const uint8_t *out, size_t len);

static void
check_text(const struct json *j, const struct param_text *t, size_t len)
{
	if (t->s == NULL) {
		MUST(t->len == 0);
		return;
	}
	MUST(t->s >= j->text && t->s < j->text + len);
	MUST(t->len < (size_t)(j->text + len - t->s));
}

/* One in a list: it is there, and NUL is behind it. */
static void
check_elem(const struct json *j, const struct param_text *t, size_t len)
{
	MUST(t->s != NULL);
	check_text(j, t, len);
	MUST(t->s[t->len] == '\0');
}

static void
check_many(const struct json *j, const struct field *f, const void *member,
    size_t len)
{
	const struct param_texts	*texts = member;
	const struct param_pairs	*pairs = member;
	const struct param_paths	*paths = member;
	size_t				 i;

	if (f->type == FIELD_TEXTS)
		for (i = 0; i < texts->n; i++)
			check_elem(j, &texts->v[i], len);
	else if (f->type == FIELD_PAIRS)
		for (i = 0; i < pairs->n; i++) {
			check_elem(j, &pairs->v[i].name, len);
			check_elem(j, &pairs->v[i].value, len);
		}
	else if (f->type == FIELD_URIS)
		for (i = 0; i < paths->n; i++)
			MUST(paths->v[i] == NULL || (paths->v[i][0] == '/' &&
			    strlen(paths->v[i]) < PATH_MAX));
	else
		MUST(((const struct param_keys *)member)->n < j->ntoks);
}

static void
check_each(const struct json *j, const struct field *f, const void *member,
    size_t len)
{
	const struct param_each	*each = member;
	size_t			 i;

	MUST(each->n <= f->max);
	for (i = 0; i < each->n; i++)
		check_group(j, f->inner, (const uint8_t *)each->v +
		    i * f->size, len);
}

static void
check_token(const struct json *j, const struct field *f, uint32_t tok)
{
	MUST(tok < j->ntoks);
	MUST(tok != 0 || f->presence != FIELD_NEEDED);
	if (tok != 0)
		MUST(json_tok(j, tok)->type ==
		    (f->type == FIELD_LIST ? JSON_ARRAY : JSON_OBJECT));
}

static void
check_field(const struct json *j, const struct field *f, const uint8_t *out,
    size_t len)
{
	const void			*member = out + f->offset;
	const struct param_text		*t = member;
	const struct param_path		*p = member;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_UUID:
	case FIELD_B64:
		check_text(j, t, len);
		if (f->presence == FIELD_NEEDED)
			MUST(t->s != NULL);
		if (f->type == FIELD_NAME && t->s != NULL)
			MUST(strlen(t->s) == t->len);
		if (f->type == FIELD_UUID && t->s != NULL)
			MUST(strlen(t->s) == 36);
		break;
	case FIELD_URI:
		if (p->given)
			MUST(p->path[0] == '/' &&
			    memchr(p->path, '\0', PATH_MAX) != NULL);
		break;
	case FIELD_U16:
		if (f->presence == FIELD_NEEDED)
			MUST(*(const uint16_t *)member >= 1);
		break;
	case FIELD_LIST:
	case FIELD_OBJECT:
		check_token(j, f, *(const uint32_t *)member);
		break;
	case FIELD_TEXTS:
	case FIELD_PAIRS:
	case FIELD_URIS:
	case FIELD_KEYS:
		check_many(j, f, member, len);
		break;
	case FIELD_NESTED:
		MUST(*(const bool *)member || f->presence != FIELD_NEEDED);
		if (*(const bool *)member)
			check_group(j, f->inner, member, len);
		break;
	case FIELD_EACH:
		check_each(j, f, member, len);
		break;
	case FIELD_BOOL:
	case FIELD_OFF:
	case FIELD_U64:
	case FIELD_NONE:
		break;
	}
}

static void
check_group(const struct json *j, const struct field *f, const uint8_t *out,
    size_t len)
{
	MUST(*(const bool *)out);
	for (; f->key != NULL; f++)
		check_field(j, f, out, len);
}

static void
one_group(unsigned g, const uint8_t *data, size_t len, bool native,
    uint32_t tok)
{
	struct param_error	 e;
	struct json		 j;
	uint8_t			*out;
	char			*text;

	text = malloc(len + 1);
	out = malloc(groups[g].size);
	MUST(text != NULL && out != NULL);
	memcpy(text, data, len);
	json_init(&j);
	if (json_parse(&j, text, len) == 0 && tok < j.ntoks) {
		if (params_decode(&j, tok, groups[g].fields, out,
		    groups[g].size, native, &e) == 0) {
			check_group(&j, groups[g].fields, out, len);
		} else {
			MUST(memchr(e.text, '\0', sizeof(e.text)) != NULL);
			MUST(e.text[0] != '\0');
		}
	}
	json_fini(&j);
	free(out);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	unsigned	 g;

	/* As in a request: the object is a member, never the first token. */
	if (!utf8_is_valid(data, len))
		return 0;
	for (g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		one_group(g, data, len, false, 2);
		one_group(g, data, len, true, 2);
		one_group(g, data, len, false, 0);
	}
	return 0;
}
