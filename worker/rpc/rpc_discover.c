/*
 * capabilities/discoverV2 and capabilityRoots/discoverV1 (PROTOCOL 8.3, 8.4):
 * skills and plugins of the stock client, found by an agent.
 */
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/rpc/fsjobs.h"
#include "worker/rpc/rpc_fs.h"
#include "worker/rpc/rpc_sandbox.h"
#include "worker/sandbox/holder.h"

bool
rpc_find_codex_home(struct fsop *op)
{
	const char	*codex = getenv("CODEX_HOME"), *home = getenv("HOME");
	const char	*path = codex;
	int		 n;

	n = snprintf(op->to, sizeof(op->to), "%s", home != NULL ? home : "");
	if (n < 0 || (size_t)n >= sizeof(op->to))
		return false;
	op->force = codex != NULL && codex[0] != '\0';
	if (!op->force)
		path = home;
	if (path == NULL || path[0] != '/')
		return false;
	n = snprintf(op->path, sizeof(op->path), "%s%s", path,
	    op->force ? "" : "/.codex");
	return n > 0 && (size_t)n < sizeof(op->path);
}

void
rpc_discover(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct discover_params	*p = params;
	struct holder		*view = NULL;
	struct fsop		 op;

	(void)msg;
	if (rpc_sandbox_applies(rpc, p->sandbox) && rpc_sandbox_nsset(rpc, req,
	    p->sandbox, false, &view) == -1)
		return;
	rpc_fs_begin(&op, FSOP_DISCOVER, NULL);
	if (!rpc_find_codex_home(&op))
		rpc_error(req, ERR_FAILED, "neither CODEX_HOME nor HOME is an "
		    "absolute path");
	else
		fsjobs_run(rpc, req, &op, view, NULL, rpc_fs_done_value, NULL);
}

/* --- roots --- */

struct root {
	char		*id;
	size_t		 id_len;
	char		*path;
	struct holder	*view;		/* in use by us, or NULL */
};

/* Roots are looked at one after another: a request has one waiter. */
struct roots {
	struct rpc	*rpc;
	size_t		 n, next;	/* next: to be looked at */
	struct buf	 answers;	/* JSON of each, with commas */
	struct root	 v[];
};

static fsjobs_done_fn	 done_root;

static void
roots_free(struct roots *all)
{
	size_t	 i;

	for (i = 0; i < all->n; i++) {
		if (all->v[i].view != NULL)
			holder_use(all->v[i].view, false);
		free(all->v[i].id);
		free(all->v[i].path);
	}
	buf_fini(&all->answers);
	free(all);
}

/* Look at the next root, or answer.  Frees all with the answer. */
static void
roots_go_on(struct roots *all, struct rpc_req *req)
{
	struct json_out	 o;
	struct fsop	 op;
	struct root	*root = &all->v[all->next];

	if (all->next < all->n) {
		rpc_fs_begin(&op, FSOP_ROOT, NULL);
		strcpy(op.path, root->path);
		op.data = root->id;
		op.len = root->id_len;
		fsjobs_run(all->rpc, req, &op, root->view, NULL, done_root,
		    all);
		return;
	}
	rpc_begin(req, &o);
	json_out_key(&o, "roots");
	json_out_open(&o, '[');
	if (all->answers.len > 0)
		json_out_raw(&o, (const char *)buf_data(&all->answers),
		    all->answers.len);
	json_out_close(&o, ']');
	roots_free(all);
	rpc_end(req, &o);
}

static void
done_root(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct roots	*all = arg;

	(void)op;
	assert(all->next < all->n);
	if (rpc_fs_failed(req, r)) {
		roots_free(all);
		return;
	}
	if ((all->answers.len > 0 && buf_put(&all->answers, ",", 1) == -1) ||
	    buf_put(&all->answers, buf_data(&r->payload),
	    r->payload.len) == -1) {
		rpc_error(req, ERR_FAILED, errno == EFBIG ?
		    "the roots have too much for one answer" :
		    "out of memory");
		roots_free(all);
		return;
	}
	all->next++;
	roots_go_on(all, req);
}

/* Copy a root and find its holder.  0, or -1: answered. */
static int
take_root(struct roots *all, struct rpc_req *req,
    const struct capability_root_params *p)
{
	struct root	*root = &all->v[all->n];

	if (rpc_sandbox_applies(all->rpc, p->sandbox) &&
	    rpc_sandbox_nsset(all->rpc, req, p->sandbox, false,
	    &root->view) == -1) {
		root->view = NULL;
		return -1;
	}
	if (root->view != NULL)
		holder_use(root->view, true);
	all->n++;
	root->id_len = p->id.len;
	root->id = malloc(p->id.len + 1);
	root->path = strdup(p->path.path);
	if (root->id == NULL || root->path == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return -1;
	}
	memcpy(root->id, p->id.s, p->id.len + 1);
	return 0;
}

void
rpc_discover_roots(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct discover_roots_params	*p = params;
	struct capability_root_params	*roots = p->roots.v;
	struct roots			*all;
	size_t				 i;

	(void)msg;
	if ((all = calloc(1, sizeof(*all) +
	    p->roots.n * sizeof(all->v[0]))) == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return;
	}
	all->rpc = rpc;
	buf_init(&all->answers, LIMIT_MESSAGE - 4096);
	for (i = 0; i < p->roots.n; i++)
		if (take_root(all, req, &roots[i]) == -1) {
			roots_free(all);
			return;
		}
	roots_go_on(all, req);
}
