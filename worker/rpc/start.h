/* Processes whose start waits for their sandbox (rpc_start.c). */
#ifndef WORKER_RPC_START_H
#define WORKER_RPC_START_H

#include <stdbool.h>
#include <stddef.h>

#include "worker/rpc/rpc.h"

/* A holder became ready, or failed: start what waits for it. */
void	 start_go_on(struct rpc *rpc);

/* Give up one that waits, if there is one: its request fails. */
bool	 start_cancel(struct rpc *rpc, const char *id, size_t len);

/* Whether the start of a process of that id waits. */
bool	 start_waits(const struct rpc *rpc, const char *id, size_t len);

#endif
