/* Sandboxes of requests: from the member "sandbox" to a plan or a holder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/plan/plan.h"
#include "worker/rpc/rpc.h"

struct holder;

/* Whether a sandbox applies: of the request (tok is not 0), or the default. */
bool	 rpc_sandbox_applies(const struct rpc *rpc, uint32_t tok);

/*
 * Make the plan of the object at token tok of the message, or, if tok is 0, the
 * default plan.  cwd and tmpdir (the value of TMPDIR): of a process, or NULL.
 * 0, or -1: answered.  plan_free() after 0.
 */
int	 rpc_sandbox_plan(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
	    const char *cwd, const char *tmpdir, struct plan *plan) MUST_CHECK;

/*
 * Find the holder for a file operation; NULL in *holder_out if the sandbox does
 * not confine reads or, with writes, also writes.  0, or -1: answered.
 */
int	 rpc_sandbox_nsset(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
	    bool writes, struct holder **holder_out) MUST_CHECK;
