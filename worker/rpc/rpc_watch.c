/* fs/watchMissing (PROTOCOL 8.1). */
#include "worker/conn/note.h"
#include "worker/rpc/rpc_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/limit.h"
#include "common/log.h"
#include "worker/conn/conn.h"
#include "worker/fs/pathwatch.h"

static void
on_change(void *arg, uint64_t id)
{
	struct session	*s = arg;
	char		 text[128];
	int		 n;

	if (s->conn == NULL)
		return;
	n = snprintf(text, sizeof(text),
	    "{\"method\":\"%s\",\"params\":{\"watchId\":%llu}}",
	    note_MISSING_CHANGED, (unsigned long long)id);
	conn_send(s->conn, text, (size_t)n);
}

/*
 * What an element of the list is: a path, into p; a URI of a path that cannot
 * be (-1 with another errno than EINVAL); or no URI (-1 with EINVAL).
 */
static int
element(struct session *s, uint32_t tok, struct param_path *p)
{
	return param_path(&s->json, tok, s->env.set.native_paths, p);
}

/* The number of elements, or -1 when one of them is no URI. */
static int
count_missing(struct session *s, uint32_t list)
{
	struct param_path	 path;
	uint32_t		 i;
	int			 n = 0;

	for (i = json_first(list); json_more(&s->json, list, i);
	    i = json_after_elem(&s->json, i), n++)
		if (element(s, i, &path) == -1 && errno == EINVAL)
			return -1;
	return n;
}

static int
watch_all(struct session *s, struct pathwatch *w,
    const struct watch_missing_params *p)
{
	struct param_path	 path;
	uint32_t		 i;

	for (i = json_first(p->missing); json_more(&s->json, p->missing, i);
	    i = json_after_elem(&s->json, i))
		if (element(s, i, &path) == -1 ||
		    pathwatch_missing(w, path.path) == -1)
			return -1;
	return p->present.given ? pathwatch_present(w, p->present.path) : 0;
}

/* Whether it is watched from now on. */
static bool
is_watching(struct session *s, const struct watch_missing_params *p)
{
	struct pathwatch	*w;

	if (s->watcher == NULL &&
	    (s->watcher = pathwatcher_new(s->env.base, on_change, s)) == NULL)
		return false;
	if ((w = pathwatch_new(s->watcher, p->id.n)) != NULL &&
	    watch_all(s, w, p) == 0)
		return true;
	log_debug("not watched: %s", strerror(errno));
	pathwatch_free(&w);
	return false;
}

void
rpc_watch_missing(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct watch_missing_params	*p = params;
	struct json_out			 o;
	int				 n;

	(void)msg;
	if ((n = count_missing(s, p->missing)) == -1) {
		rpc_error(req, ERR_PARAMS,
		    "invalid params: expected file: URIs in \"missing\"");
		return;
	}
	rpc_begin(req, &o);
	json_out_key(&o, "watching");
	json_out_bool(&o, n > 0 && n <= LIMIT_WATCH_PATHS &&
	    is_watching(s, p));
	rpc_end(req, &o);
}
