/*
 * environmentConfig/read (PROTOCOL 8.2): the configuration of the stock client
 * on this machine, as its user may read it.
 */
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <stdlib.h>
#include <string.h>

#include "worker/rpc/fsjobs.h"
#include "worker/rpc/rpc_fs.h"

/* Count the bytes that the paths take in a question, or write them. */
static size_t
put_paths(char *to, uint32_t stack, const struct param_keys *paths)
{
	const struct param_texts	*path;
	size_t				 i, k, n = 0;
	uint32_t			 number[2];

	for (i = 0; i < paths->n; i++) {
		path = &paths->v[i];
		number[0] = stack;
		number[1] = (uint32_t)path->n;
		if (to != NULL)
			memcpy(to + n, number, sizeof(number));
		n += sizeof(number);
		for (k = 0; k < path->n; k++) {
			number[0] = (uint32_t)path->v[k].len;
			if (to != NULL) {
				memcpy(to + n, number, sizeof(number[0]));
				memcpy(to + n + sizeof(number[0]),
				    path->v[k].s, path->v[k].len);
			}
			n += sizeof(number[0]) + path->v[k].len;
		}
	}
	return n;
}

void
rpc_config_read(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct config_read_params	*p = params;
	struct fsop			 op;
	size_t				 n, more;
	char				*data;

	(void)msg;
	if (p->config.n == 0 && p->requirements.n == 0) {
		rpc_error(req, ERR_PARAMS, "invalid params: at least one "
		    "config or requirements path is required");
		return;
	}
	rpc_fs_begin(&op, FSOP_CONFIG, NULL);
	if (!rpc_find_codex_home(&op)) {
		rpc_error(req, ERR_FAILED, "neither CODEX_HOME nor HOME is an "
		    "absolute path");
		return;
	}
	n = put_paths(NULL, 0, &p->config);
	more = put_paths(NULL, 1, &p->requirements);
	if ((data = malloc(n + more)) == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return;
	}
	put_paths(data, 0, &p->config);
	put_paths(data + n, 1, &p->requirements);
	op.data = data;
	op.len = n + more;
	fsjobs_run(rpc, req, &op, NULL, NULL, rpc_fs_done_value, NULL);
	free(data);
}
