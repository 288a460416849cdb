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
#define END(group)
#include "proto/rpc_params.def"
#undef GROUP
#undef FIELD
#undef END
};

static void
check_text(const struct json *j, const struct param_text *t, size_t len)
{
	if (t->s == NULL) {
		MUST(t->len == 0);
		return;
	}
	MUST(t->s >= j->text && t->s <= j->text + len);
	MUST(t->len <= (size_t)(j->text + len - t->s));
}

static void
check_field(const struct json *j, const struct field *f, const uint8_t *out,
    size_t len)
{
	const void	*member = out + f->offset;
	uint32_t	 tok;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_B64:
		check_text(j, member, len);
		if (f->presence == FIELD_NEEDED)
			MUST(((const struct param_text *)member)->s != NULL);
		if (f->type == FIELD_NAME &&
		    ((const struct param_text *)member)->s != NULL)
			MUST(memchr(((const struct param_text *)member)->s,
			    '\0', ((const struct param_text *)member)->len) ==
			    NULL);
		break;
	case FIELD_URI:
		if (((const struct param_path *)member)->given) {
			const char	*p =
			    ((const struct param_path *)member)->path;

			MUST(p[0] == '/' && memchr(p, '\0', PATH_MAX) != NULL);
		}
		break;
	case FIELD_U16:
		if (f->presence == FIELD_NEEDED)
			MUST(*(const uint16_t *)member >= 1);
		break;
	case FIELD_LIST:
	case FIELD_OBJECT:
		tok = *(const uint32_t *)member;
		MUST(tok < j->ntoks);
		MUST(tok != 0 || f->presence != FIELD_NEEDED);
		if (tok != 0)
			MUST(json_tok(j, tok)->type ==
			    (f->type == FIELD_LIST ? JSON_ARRAY :
			    JSON_OBJECT));
		break;
	case FIELD_BOOL:
	case FIELD_OFF:
	case FIELD_U64:
	case FIELD_NONE:
		break;
	}
}

static void
one_group(unsigned g, const uint8_t *data, size_t len, bool native,
    uint32_t tok)
{
	const struct field	*f;
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
			for (f = groups[g].fields; f->key != NULL; f++)
				check_field(&j, f, out, len);
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
