#include "worker/conn/jsonrpc.h"

#include <string.h>

static const struct {
	int		 code;
	const char	*text;
} errors[RPC_ERRORS] = {
#define ERR(name, code, text)	{ code, text },
#include "proto/err.def"
#undef ERR
};

const char	 jsonrpc_too_long[] =
    "invalid params: initialize is longer than 64 KiB";

int
jsonrpc_read_id(const struct json *j, uint32_t tok, struct jsonrpc_id *id)
{
	if (json_tok(j, tok)->type == JSON_STRING) {
		id->text = j->text + json_tok(j, tok)->pos;
		id->len = json_tok(j, tok)->len;
		return 0;
	}
	return json_i64(j, tok, &id->number);
}

void
jsonrpc_put_id(struct json_out *o, const struct jsonrpc_id *id)
{
	json_out_key(o, "id");
	if (id->text != NULL)
		json_out_text(o, id->text, id->len);
	else
		json_out_i64(o, id->number);
}

void
jsonrpc_put_error(struct json_out *o, const struct jsonrpc_id *id,
    enum rpc_err err, const char *why)
{
	json_out_open(o, '{');
	json_out_key(o, "error");
	json_out_open(o, '{');
	json_out_key(o, "code");
	json_out_i64(o, errors[err].code);
	json_out_pair(o, "message", why != NULL ? why : errors[err].text);
	json_out_close(o, '}');
	jsonrpc_put_id(o, id);
}

int
jsonrpc_refuse(char *text, size_t len, enum rpc_err err, const char *why,
    struct buf *out)
{
	struct jsonrpc_id	 id;
	struct json		 j;
	struct json_out		 o;
	uint32_t		 tok;

	memset(&id, 0, sizeof(id));
	json_init(&j);
	if (json_parse(&j, text, len) == -1 || json_tok(&j, 0)->type !=
	    JSON_OBJECT || (tok = json_find(&j, 0, "id")) == 0 ||
	    jsonrpc_read_id(&j, tok, &id) == -1)
		id.number = -1;
	json_out_init(&o, out);
	jsonrpc_put_error(&o, &id, err, why);
	json_out_close(&o, '}');
	json_fini(&j);
	return json_out_fini(&o);
}
