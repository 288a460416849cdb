#include "t/unit/json_help.h"

#include <stdlib.h>
#include <string.h>

char *
json_copy(const char *text, size_t len)
{
	char	*copy;

	if ((copy = malloc(len == 0 ? 1 : len)) == NULL)
		abort();
	if (len > 0)
		memcpy(copy, text, len);
	return copy;
}

void
json_write(struct json_out *o, const struct json *j, uint32_t i)
{
	const struct json_tok	*t = json_tok(j, i);
	uint32_t		 k = json_first(i);

	switch (t->type) {
	case JSON_STRING:
		json_out_text(o, json_text(j, i), t->len);
		return;
	case JSON_ARRAY:
		json_out_open(o, '[');
		for (; json_more(j, i, k); k = json_after_elem(j, k))
			json_write(o, j, k);
		json_out_close(o, ']');
		return;
	case JSON_OBJECT:
		json_out_open(o, '{');
		for (; json_more(j, i, k); k = json_after_member(j, k)) {
			json_out_key_text(o, json_text(j, k),
			    json_tok(j, k)->len);
			json_write(o, j, k + 1);
		}
		json_out_close(o, '}');
		return;
	default:
		json_out_raw(o, json_text(j, i), t->len);
	}
}
