/*
 * session/operate and session/tail (PROTOCOL 10.5): control commands for other
 * sessions of the client's identity, over a channel like an operator's.
 */
#pragma once

#include "common/ipc/ipc.h"
#include "worker/rpc/rpc.h"

/* m->fd is taken. */
void	 operations_on_channel(struct rpc *rpc, const Ipc__Operating *in,
	    struct ipc_msg *m);
void	 operations_on_refused(struct rpc *rpc, const Ipc__OperateRefused *in);

/* The master answers no more. */
void	 operations_on_orphaned(struct rpc *rpc);

void	 operations_on_conn_end(struct rpc *rpc);
void	 operations_free(struct rpc *rpc);
