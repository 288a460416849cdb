#include "worker/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "worker/files.h"
#include "worker/holder.h"
#include "worker/start.h"

int
sandbox_plan(struct session *s, struct rpc_req *req, uint32_t tok,
    const char *cwd, const char *tmpdir, struct plan *plan)
{
	struct plan_context	 ctx;
	char			 why[160];

	ctx.cwd = cwd;
	ctx.tmpdir = tmpdir;
	ctx.native_paths = s->set.native_paths;
	if (plan_make(plan, &s->json, tok, &ctx, why, sizeof(why)) == 0)
		return 0;
	plan_free(plan);
	rpc_errorf(req, ERR_PARAMS, "sandbox: %s", why);
	return -1;
}

int
sandbox_view(struct session *s, struct rpc_req *req, uint32_t tok,
    bool writes, struct holder **view_out)
{
	struct plan	 plan;
	int		 rv = 0;

	*view_out = NULL;
	if (sandbox_plan(s, req, tok, NULL, getenv("TMPDIR"),
	    &plan) == -1)
		return -1;
	if (!plan.reads_all || (writes && !plan.writes_all)) {
		if ((*view_out = holder_get(s, &plan)) == NULL) {
			rpc_errorf(req, ERR_FAILED,
			    "the sandbox cannot be made: %s",
			    strerror(errno));
			rv = -1;
		}
	}
	plan_free(&plan);
	return rv;
}

void
holder_changed(struct session *s)
{
	files_holder_changed(s);
	start_go_on(s);
}
