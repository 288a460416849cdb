/* What requests about files share (rpc_fs.c). */
#pragma once

#include "common/json/params.h"
#include "worker/rpc/fsjobs.h"

/* An operation of that kind on a path, or none, without anything special. */
void	 rpc_fs_begin(struct fsop *op, enum fsop_kind kind,
	    const struct param_path *path);

/* Whether the operation failed; answers the request (or NULL) then. */
bool	 rpc_fs_failed(struct rpc_req *req, const struct fsop_result *r);

/* Answer with a payload that is the whole result, as JSON. */
fsjobs_done_fn	 rpc_fs_done_value;
