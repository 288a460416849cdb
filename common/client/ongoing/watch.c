/* fs/watchMissing: one notification, then it is over. */
#include "common/client/ongoing/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/jsonmap.h"
#include "common/limit.h"

struct execsrv_watch {
	TAILQ_ENTRY(execsrv_watch)	 entry;
	struct execsrv			*x;
	uint64_t			 id;
	struct execsrv_watch_hooks	 hooks;
	void				*arg;
	bool				 is_watched, is_over;
};

static void
change(struct execsrv_watch *w)
{
	assert(!w->is_over);
	w->is_over = true;
	if (w->hooks.on_changed != NULL)
		w->hooks.on_changed(w->arg);
}

bool
execsrv_watch_note(struct execsrv *x, const struct json *j,
    const char *method, uint32_t params)
{
	struct execsrv_watch	*w;
	uint32_t		 tok;
	uint64_t		 id;

	if (strcmp(method, "fs/missingChanged") != 0)
		return false;
	tok = params == 0 ? 0 : json_find(j, params, "watchId");
	if (tok == 0 || json_u64(j, tok, &id) == -1) {
		execsrv_lose(x, EXECSRV_WHY_PROTOCOL,
		    "the server sent a malformed %s", method);
		return true;
	}
	TAILQ_FOREACH(w, &x->watches.live, entry)
		if (w->id == id && !w->is_over) {
			change(w);
			break;
		}
	return true;
}

static void
watch_on_answer(void *arg, const struct execsrv_answer *a)
{
	struct execsrv_watch	*w = arg;
	struct execsrv_watching	*r = NULL;
	struct execsrv_error	 e;
	const struct execsrv_error *why = a->error;
	bool			 is_watched;

	assert(!w->is_watched);
	if (why == NULL && (r = execsrv_jsonmap_get(&execsrv_jsonmap_watching,
	    a->json, a->result)) == NULL) {
		execsrv_error_set(&e, EXECSRV_WHY_PROTOCOL, "the server's "
		    "answer to fs/watchMissing is malformed");
		why = &e;
	}
	is_watched = r != NULL && r->is_watched;
	free(r);
	/* A server that does not watch will not notify. */
	w->is_watched = is_watched;
	w->is_over |= !is_watched;
	if (w->hooks.on_answer != NULL)
		w->hooks.on_answer(w->arg, is_watched, why);
}

static int
put_watch(struct buf *b, const struct execsrv_watch_missing *in)
{
	struct json_out	 o;

	json_out_init(&o, b);
	json_out_open(&o, '{');
	if (execsrv_jsonmap_put(&o, &execsrv_jsonmap_watch_missing, in) == -1)
		return -1;
	json_out_close(&o, '}');
	return json_out_fini(&o);
}

struct execsrv_watch *
execsrv_watch_missing(struct execsrv *x, const char *const *missing,
    const char *present, const struct execsrv_watch_hooks *hooks, void *arg)
{
	struct execsrv_watch_missing	 in = {
		.id = ++x->watches.last_id, .missing = missing,
		.present = present
	};
	struct execsrv_watch		*w;
	struct buf			 b;
	int				 error;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	w->x = x;
	w->id = in.id;
	if (hooks != NULL)
		w->hooks = *hooks;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&x->watches.live, w, entry);
	buf_init(&b, LIMIT_MESSAGE);
	if (put_watch(&b, &in) == -1 || execsrv_call(x, "fs/watchMissing",
	    (char *)buf_data(&b), b.len, watch_on_answer, w) == -1) {
		error = errno;
		execsrv_watch_free(&w);
		errno = error;
	}
	buf_fini(&b);
	return w;
}

void
execsrv_watch_free(struct execsrv_watch **wp)
{
	struct execsrv_watch	*w = *wp;

	*wp = NULL;
	if (w == NULL)
		return;
	execsrv_forget(w->x, watch_on_answer, w);
	TAILQ_REMOVE(&w->x->watches.live, w, entry);
	free(w);
}

void
execsrv_watch_lost(struct execsrv *x)
{
	struct execsrv_watch	*w;

	/* The hook may free any watch: begin anew after each. */
	do {
		TAILQ_FOREACH(w, &x->watches.live, entry)
			if (w->is_watched && !w->is_over)
				break;
		if (w != NULL)
			change(w);
	} while (w != NULL);
}

void
execsrv_watch_free_all(struct execsrv *x)
{
	struct execsrv_watch	*w;

	while ((w = TAILQ_FIRST(&x->watches.live)) != NULL)
		execsrv_watch_free(&w);
}
