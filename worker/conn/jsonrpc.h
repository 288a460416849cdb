/*
 * JSON-RPC 2.0 as exec servers speak it, without its member "jsonrpc": the id
 * of a request, and answers that say what is wrong.  Pure.
 */
#ifndef WORKER_CONN_JSONRPC_H
#define WORKER_CONN_JSONRPC_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json/json.h"
#include "common/json/json_out.h"

/* Error answers, the rows of proto/err.def. */
enum rpc_err {
#define ERR(name, code, text)	ERR_##name,
#include "proto/err.def"
#undef ERR
	RPC_ERRORS
};

/* An initialize is longer than LIMIT_FIRST_MESSAGE. */
extern const char	 jsonrpc_too_long[];

struct jsonrpc_id {
	char		*text;		/* or NULL: */
	size_t		 len;
	int64_t		 number;
};

/* The id at a token, whose text it then is.  0, or -1: it is none. */
int	 jsonrpc_read_id(const struct json *j, uint32_t tok,
	    struct jsonrpc_id *id) __attribute__((warn_unused_result));

/* The member id; an error answer but for its end; why NULL: the row's text. */
void	 jsonrpc_put_id(struct json_out *o, const struct jsonrpc_id *id);
void	 jsonrpc_put_error(struct json_out *o, const struct jsonrpc_id *id,
	    enum rpc_err err, const char *why);

/*
 * What to answer to a message that nobody handles: an error by its id, or by
 * -1 if it has none that can be read.  Reading writes into text.  0, or -1 with
 * errno: memory.
 */
int	 jsonrpc_refuse(char *text, size_t len, enum rpc_err err,
	    const char *why, struct buf *out)
	    __attribute__((warn_unused_result));

#endif
