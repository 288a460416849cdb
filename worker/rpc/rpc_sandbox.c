#include "worker/rpc/rpc_sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/rpc/fsjobs.h"
#include "worker/rpc/start.h"
#include "worker/sandbox/holder.h"

bool
rpc_sandbox_applies(const struct rpc *rpc, uint32_t tok)
{
	return tok != 0 || rpc->env->set.sandbox != 0;
}

/*
 * Make the default plan: the policy of that name as the client defines it.  The
 * workspace of a file request is the home directory of the user; without one
 * nothing is writable.
 */
static int
plan_default(const struct rpc *rpc, struct plan_context *ctx,
    struct plan *plan, char *why, size_t size)
{
	struct json	 j;
	char		 text[64];
	int		 r = -1;

	if (ctx->cwd == NULL && (ctx->cwd = getenv("HOME")) != NULL &&
	    strcmp(ctx->cwd, "/") == 0)
		ctx->cwd = NULL;
	snprintf(text, sizeof(text), "{\"sandbox\":{\"type\":\"%s\"}}",
	    rpc->env->set.sandbox == 1 || ctx->cwd == NULL ? "read-only" :
	    "workspace-write");
	json_init(&j);
	snprintf(why, size, "%s", strerror(ENOMEM));
	if (json_parse(&j, text, strlen(text)) == 0)
		r = plan_make(plan, &j, json_find(&j, 0, "sandbox"), ctx,
		    why, size);
	json_fini(&j);
	return r;
}

int
rpc_sandbox_plan(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
    const char *cwd, const char *tmpdir, struct plan *plan)
{
	struct plan_context	 ctx;
	char			 why[160];

	ctx.cwd = cwd;
	ctx.tmpdir = tmpdir;
	ctx.native_paths = rpc->env->set.native_paths;
	if ((tok == 0 ? plan_default(rpc, &ctx, plan, why, sizeof(why)) :
	    plan_make(plan, &rpc->json, tok, &ctx, why, sizeof(why))) == 0)
		return 0;
	plan_free(plan);
	rpc_errorf(req, ERR_PARAMS, "sandbox: %s", why);
	return -1;
}

int
rpc_sandbox_nsset(struct rpc *rpc, struct rpc_req *req, uint32_t tok,
    bool writes, struct holder **holder_out)
{
	struct plan	 plan;
	int		 rv = 0;

	*holder_out = NULL;
	if (rpc_sandbox_plan(rpc, req, tok, NULL, getenv("TMPDIR"),
	    &plan) == -1)
		return -1;
	if (!plan.reads_all || (writes && !plan.writes_all)) {
		if ((*holder_out = holder_get(rpc->holders, &plan)) == NULL) {
			rpc_errorf(req, ERR_FAILED,
			    "the sandbox cannot be set up: %s",
			    strerror(errno));
			rv = -1;
		}
	}
	plan_free(&plan);
	return rv;
}

