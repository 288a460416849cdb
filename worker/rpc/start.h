/* Process starts that wait for a sandbox (rpc_start.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/rpc/rpc.h"

/* A holder became ready or failed. */
void	 starts_resume(struct rpc *rpc);

/* Its request fails.  Whether there was one. */
bool	 start_cancel(struct rpc *rpc, const char *id, size_t len);

/* execsrv-forward is installed. */
bool	 start_can_forward(const struct rpc *rpc);

bool	 start_waits(const struct rpc *rpc, const char *id, size_t len);
