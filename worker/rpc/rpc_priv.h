/* What dispatcher and handlers share; for rpc*.c only. */
#ifndef WORKER_RPC_RPC_PRIV_H
#define WORKER_RPC_RPC_PRIV_H

#include "common/json/params.h"
#include "worker/rpc/rpc.h"

/* A handler: params is the struct of its group, msg the message. */
typedef void	 rpc_fn(struct rpc *rpc, struct rpc_req *req, void *params,
		    const struct rpc_message *msg);

#define RPC(method, fn, params, state)	rpc_fn rpc_##fn;
#include "proto/rpc.def"
#undef RPC

/* Whether there is no configuration that environmentConfig/read would tell. */
bool	 rpc_config_is_none(void);

/*
 * Write a path as a URI, as the member key or (NULL) as an element; nothing
 * when path is NULL or not absolute.
 */
void	 rpc_put_uri(struct json_out *o, const char *key, const char *path);

/* Write the object environmentInfo. */
void	 rpc_put_environment(struct rpc *rpc, struct json_out *o);

#endif
