/* JSON-RPC 2.0 without the member "jsonrpc": ids and errors.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json/json.h"
#include "common/json/json_out.h"

/* Rows of proto/err.def. */
enum rpc_err {
#define ERR(name, code, text)	ERR_##name,
#include "proto/err.def"
#undef ERR
	RPC_ERRORS
};

/* Reason for an initialize above LIMIT_FIRST_MESSAGE. */
extern const char	 jsonrpc_too_long[];

struct jsonrpc_id {
	char		*text;		/* or NULL: a number */
	size_t		 len;
	int64_t		 number;
};

/* Read the id at a token, whose text it borrows.  0, or -1: not an id. */
int	 jsonrpc_read_id(const struct json *j, uint32_t tok,
	    struct jsonrpc_id *id) MUST_CHECK;

/* Write the member id; an error without its "}" (why NULL: the row's text). */
void	 jsonrpc_put_id(struct json_out *o, const struct jsonrpc_id *id);
void	 jsonrpc_put_error(struct json_out *o, const struct jsonrpc_id *id,
	    enum rpc_err err, const char *why);

/*
 * Make the error for a message that nobody handles, with its id or, if that
 * cannot be read, -1.  Parsing changes text.  0, or -1 with errno ENOMEM.
 */
int	 jsonrpc_refuse(char *text, size_t len, enum rpc_err err,
	    const char *why, struct buf *out) MUST_CHECK;
