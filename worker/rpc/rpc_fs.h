/* Shared by requests about files (rpc_fs.c). */
#pragma once

#include "common/json/params.h"
#include "worker/rpc/fsjobs.h"

/* On a path, or none; nothing special. */
void	 rpc_fs_begin(struct fsop *op, enum fsop_kind kind,
	    const struct param_path *path);

/* Then the request (or NULL) is answered. */
bool	 rpc_fs_failed(struct rpc_req *req, const struct fsop_result *r);

/* The payload is the result, as JSON. */
fsjobs_done_fn	 rpc_fs_done_value;
