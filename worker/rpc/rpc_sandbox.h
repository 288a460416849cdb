/* From the member "sandbox" to a plan or a holder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/plan/plan.h"
#include "worker/rpc/rpc.h"

struct holder;

/* The request's (tok not 0), or the default. */
bool	 rpc_sandbox_applies(const struct rpc *rpc, uint32_t tok);

/* At tok; 0: the default.  cwd, tmpdir: or NULL.  0, plan_free(); -1: done. */
int	 rpc_sandbox_plan(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
	    const char *cwd, const char *tmpdir, struct plan *plan) MUST_CHECK;

/* *holder_out NULL: reads, or with writes also these, are free.  -1: done. */
int	 rpc_sandbox_nsset(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
	    bool writes, struct holder **holder_out) MUST_CHECK;
