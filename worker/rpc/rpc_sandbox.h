/*
 * Sandboxes of requests: from the member "sandbox" to what enforces it.
 */
#ifndef WORKER_RPC_RPC_SANDBOX_H
#define WORKER_RPC_RPC_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/plan/plan.h"
#include "worker/rpc/rpc.h"

struct holder;

/* Whether there is one: the request's (tok is not 0), or the default. */
bool	 rpc_sandbox_applies(const struct rpc *rpc, uint32_t tok);

/*
 * The plan of the object at token tok of the message being handled, or, if
 * that is 0, the one that applies by default; cwd and
 * tmpdir (the value of TMPDIR): a process's, or NULL.  0, or -1: the request
 * is answered.  plan_free() after 0.
 */
int	 rpc_sandbox_plan(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
	    const char *cwd, const char *tmpdir, struct plan *plan)
	    __attribute__((warn_unused_result));

/*
 * The view under which a file operation has to be done, NULL in *view_out when
 * the sandbox does not confine what it does: reading, or writing as well.  0,
 * or -1: the request is answered.
 */
int	 rpc_sandbox_nsset(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
	    bool writes, struct holder **view_out)
	    __attribute__((warn_unused_result));

#endif
