#include "common/client/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"

static void
put_members(struct json_out *o, const struct json *j, uint32_t tok)
{
	uint32_t	 i;

	json_out_open(o, '{');
	for (i = json_first(tok); json_more(j, tok, i);
	    i = json_after_member(j, i)) {
		json_out_key_text(o, json_text(j, i), json_tok(j, i)->len);
		execsrv_put_value(o, j, i + 1);
	}
	json_out_close(o, '}');
}

/* The depth is limited by the reader. */
void
execsrv_put_value(struct json_out *o, const struct json *j, uint32_t tok)
{
	uint32_t	 i;

	switch (json_tok(j, tok)->type) {
	case JSON_OBJECT:
		put_members(o, j, tok);
		break;
	case JSON_ARRAY:
		json_out_open(o, '[');
		for (i = json_first(tok); json_more(j, tok, i);
		    i = json_after_elem(j, i))
			execsrv_put_value(o, j, i);
		json_out_close(o, ']');
		break;
	case JSON_STRING:
		json_out_text(o, json_text(j, tok), json_tok(j, tok)->len);
		break;
	default:
		json_out_raw(o, json_text(j, tok), json_tok(j, tok)->len);
		break;
	}
}

int
execsrv_check_json(const char *text, size_t len)
{
	struct json	 j;
	char		*copy;
	int		 r = -1;

	json_init(&j);
	/* json_parse() changes the text. */
	if ((copy = malloc(len + 1)) == NULL)
		return -1;		/* ENOMEM */
	memcpy(copy, text, len);
	if (utf8_is_valid(copy, len) && json_parse(&j, copy, len) == 0)
		r = json_tok(&j, 0)->type == JSON_OBJECT ||
		    json_tok(&j, 0)->type == JSON_ARRAY ? 0 : -1;
	json_fini(&j);
	free(copy);
	errno = EINVAL;
	return r;
}

bool
execsrv_is_true(const struct json *j, uint32_t object, const char *key)
{
	uint32_t	 i = json_find(j, object, key);

	return i != 0 && json_tok(j, i)->type == JSON_TRUE;
}
