/* Internal to worker/rpc/rpc*.c. */
#pragma once

#include "common/json/params.h"

struct json_out;
struct rpc;
struct rpc_message;
struct rpc_req;

/* params: of its group. */
typedef void	 rpc_fn(struct rpc *rpc, struct rpc_req *req, void *params,
		    const struct rpc_message *msg);

#define RPC(method, fn, params, state)	rpc_fn rpc_##fn;
#include "proto/rpc.def"
#undef RPC

/* path: CODEX_HOME (with force) or .codex in HOME; to: HOME.  Or false. */
struct fsop;
bool	 rpc_find_codex_home(struct fsop *op);

/* The object environmentInfo. */
void	 rpc_put_environment(struct rpc *rpc, struct json_out *o);
