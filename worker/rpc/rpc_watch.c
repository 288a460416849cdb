/* fs/watchMissing (PROTOCOL 8.1). */
#include "worker/conn/note.h"
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/limit.h"
#include "common/log.h"
#include "worker/conn/conn.h"
#include "worker/fs/pathwatch.h"

/* May end the connection, and with it all watches. */
static void
on_change(void *arg, uint64_t id)
{
	struct rpc	*rpc = arg;
	char		 text[128];
	int		 n;

	if (rpc->conn == NULL)
		return;
	n = snprintf(text, sizeof(text),
	    "{\"method\":\"%s\",\"params\":{\"watchId\":%llu}}",
	    note_MISSING_CHANGED, (unsigned long long)id);
	conn_send(rpc->conn, text, (size_t)n);
}

static int
watch_all(struct pathwatch *w, const struct watch_missing_params *p)
{
	size_t	 i;

	for (i = 0; i < p->missing.n; i++)
		if (p->missing.v[i] == NULL ||
		    pathwatch_missing(w, p->missing.v[i]) == -1)
			return -1;
	return p->present.given ? pathwatch_present(w, p->present.path) : 0;
}

/* Watch the paths.  Whether that worked. */
static bool
is_watching(struct rpc *rpc, const struct watch_missing_params *p)
{
	struct pathwatch	*w;

	if (rpc->watcher == NULL &&
	    (rpc->watcher = pathwatcher_new(rpc->env->base, on_change, rpc)) ==
	    NULL)
		return false;
	if ((w = pathwatch_new(rpc->watcher, p->id.n)) != NULL &&
	    watch_all(w, p) == 0)
		return true;
	log_debug("not watched: %s", strerror(errno));
	pathwatch_free(&w);
	return false;
}

void
rpc_watch_missing(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct watch_missing_params	*p = params;
	struct json_out			 o;

	(void)msg;
	rpc_begin(req, &o);
	json_out_key(&o, "watching");
	json_out_bool(&o, p->missing.n > 0 &&
	    p->missing.n <= LIMIT_WATCH_PATHS && is_watching(rpc, p));
	rpc_end(req, &o);
}
