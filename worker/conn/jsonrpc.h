/* JSON-RPC 2.0 without the member "jsonrpc": ids and errors.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json/json.h"
#include "common/json/json_out.h"

/* proto/err.def */
enum rpc_err {
#define ERR(name, code, text)	ERR_##name,
#include "proto/err.def"
#undef ERR
	RPC_ERRORS
};

/* For an initialize above LIMIT_FIRST_MESSAGE. */
extern const char	 jsonrpc_too_long[];

struct jsonrpc_id {
	char		*text;		/* or NULL: a number */
	size_t		 len;
	int64_t		 number;
};

/* The text is borrowed.  -1: not an id. */
int	 jsonrpc_read_id(const struct json *j, uint32_t tok,
	    struct jsonrpc_id *id) MUST_CHECK;

/* The member; an error without its "}" (why NULL: the row's text). */
void	 jsonrpc_put_id(struct json_out *o, const struct jsonrpc_id *id);
void	 jsonrpc_put_error(struct json_out *o, const struct jsonrpc_id *id,
	    enum rpc_err err, const char *why);

/* For a message nobody handles; its id, or -1.  text is changed.  Or -1. */
int	 jsonrpc_refuse(char *text, size_t len, enum rpc_err err,
	    const char *why, struct buf *out) MUST_CHECK;
