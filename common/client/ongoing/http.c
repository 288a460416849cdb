/* http/request: the answer, then the pieces of the body in order. */
#include "common/client/ongoing/http.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/jsonmap.h"
#include "common/limit.h"

#define EARLY_MAX	((size_t)16 * 1024 * 1024)	/* bytes kept */

/* A piece that came before its turn, or before the answer. */
struct early {
	TAILQ_ENTRY(early)	 entry;
	struct execsrv_delta	*delta;
};

struct execsrv_http {
	TAILQ_ENTRY(execsrv_http)	 entry;
	struct execsrv			*x;
	char				 id[24];
	struct execsrv_http_hooks	 hooks;
	void				*arg;
	bool				 has_head, is_done;
	uint64_t			 next_seq;
	TAILQ_HEAD(, early)		 early;		/* by seq */
	size_t				 early_bytes;
};

static void
early_free(struct execsrv_http *h, struct early *ev)
{
	assert(h->early_bytes >= ev->delta->bytes.len);
	TAILQ_REMOVE(&h->early, ev, entry);
	h->early_bytes -= ev->delta->bytes.len;
	free(ev->delta);
	free(ev);
}

/* Call on_done, which may free h. */
static void
client_http_finish(struct execsrv_http *h, const struct execsrv_error *e)
{
	if (h->is_done)
		return;
	h->is_done = true;
	if (h->hooks.on_done != NULL)
		h->hooks.on_done(h->arg, e);
}

static void
client_http_fail(struct execsrv_http *h, enum execsrv_reason why,
    const char *text)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, why, "%s", text);
	client_http_finish(h, &e);
}

/* Deliver the next piece; return whether more may follow. */
static bool
client_http_deliver(struct execsrv_http *h, const struct execsrv_delta *d)
{
	assert(h->has_head && d->seq == h->next_seq);
	h->next_seq++;
	execsrv_progress(h->x);
	if (d->bytes.len > 0 && h->hooks.on_body != NULL)
		h->hooks.on_body(h->arg, d->bytes.data, d->bytes.len);
	if (!d->is_last && d->error == NULL)
		return true;
	if (d->error != NULL)
		client_http_fail(h, EXECSRV_WHY_SERVER, d->error);
	else
		client_http_finish(h, NULL);
	return false;
}

static void
deliver_early(struct execsrv_http *h)
{
	struct execsrv_delta	*d;
	struct early		*ev;
	bool			 goes_on = true;

	while (goes_on && (ev = TAILQ_FIRST(&h->early)) != NULL &&
	    ev->delta->seq <= h->next_seq) {
		d = ev->delta;
		TAILQ_REMOVE(&h->early, ev, entry);
		h->early_bytes -= d->bytes.len;
		free(ev);
		if (d->seq == h->next_seq)
			goes_on = client_http_deliver(h, d);
		free(d);
	}
}

/* Keep d, which becomes h's.  0, or -1: too much, or out of memory. */
static int
client_http_keep(struct execsrv_http *h, struct execsrv_delta *d)
{
	struct early	*ev, *at;

	if (h->early_bytes + d->bytes.len > EARLY_MAX ||
	    (ev = malloc(sizeof(*ev))) == NULL)
		return -1;
	ev->delta = d;
	h->early_bytes += d->bytes.len;
	TAILQ_FOREACH(at, &h->early, entry)
		if (at->delta->seq > d->seq)
			break;
	if (at != NULL)
		TAILQ_INSERT_BEFORE(at, ev, entry);
	else
		TAILQ_INSERT_TAIL(&h->early, ev, entry);
	return 0;
}

static struct execsrv_http *
client_http_find(struct execsrv *x, const char *id)
{
	struct execsrv_http	*h;

	TAILQ_FOREACH(h, &x->https.live, entry)
		if (!h->is_done && strcmp(h->id, id) == 0)
			return h;
	return NULL;
}

bool
execsrv_http_note(struct execsrv *x, const struct json *j, const char *method,
    uint32_t params)
{
	struct execsrv_delta	*d;
	struct execsrv_http	*h;

	if (strcmp(method, "http/request/bodyDelta") != 0)
		return false;
	if (params == 0 || (d = execsrv_jsonmap_get(&execsrv_jsonmap_delta,
	    j, params)) == NULL) {
		execsrv_lose(x, EXECSRV_WHY_PROTOCOL,
		    "the server sent a malformed %s", method);
		return true;
	}
	h = client_http_find(x, d->id);
	if (h == NULL || d->seq < h->next_seq) {
		free(d);		/* of a freed request, or twice */
		return true;
	}
	if (client_http_keep(h, d) == -1) {
		free(d);
		client_http_fail(h, EXECSRV_WHY_TOO_MUCH, "the server sent "
		    "too much of the body before the head of the response");
	} else if (h->has_head) {
		deliver_early(h);
	}
	return true;
}

static void
client_http_on_head(void *arg, const struct execsrv_answer *a)
{
	struct execsrv_http		*h = arg;
	struct execsrv_http_head	*head;

	assert(!h->has_head);
	if (a->error != NULL) {
		client_http_finish(h, a->error);
		return;
	}
	if ((head = execsrv_jsonmap_get(&execsrv_jsonmap_http_head, a->json,
	    a->result)) == NULL) {
		client_http_fail(h, EXECSRV_WHY_PROTOCOL,
		    "the server's answer to http/request is malformed");
		return;
	}
	h->has_head = true;
	if (h->hooks.on_head != NULL)
		h->hooks.on_head(h->arg, head);
	free(head);
	deliver_early(h);
}

/* Write the parameters.  0, or -1 with errno. */
static int
put_request(struct buf *b, const char *id,
    const struct execsrv_http_request *in)
{
	struct json_out	 o;

	json_out_init(&o, b);
	json_out_open(&o, '{');
	json_out_pair(&o, "requestId", id);
	json_out_pair_bool(&o, "streamResponse", true);
	if (execsrv_jsonmap_put(&o, &execsrv_jsonmap_http_request, in) == -1)
		return -1;
	json_out_close(&o, '}');
	return json_out_fini(&o);
}

struct execsrv_http *
execsrv_http_request(struct execsrv *x, const struct execsrv_http_request *in,
    const struct execsrv_http_hooks *hooks, void *arg)
{
	struct execsrv_http	*h;
	struct buf		 b;
	int			 error;

	if ((h = calloc(1, sizeof(*h))) == NULL)
		return NULL;
	h->x = x;
	if (hooks != NULL)
		h->hooks = *hooks;
	h->arg = arg;
	h->next_seq = 1;
	TAILQ_INIT(&h->early);
	TAILQ_INSERT_TAIL(&x->https.live, h, entry);
	snprintf(h->id, sizeof(h->id), "h%llu",
	    (unsigned long long)++x->https.last_id);
	buf_init(&b, LIMIT_MESSAGE);
	if (put_request(&b, h->id, in) == -1 || execsrv_call(x,
	    "http/request", (char *)buf_data(&b), b.len, client_http_on_head,
	    h) == -1) {
		error = errno;
		execsrv_http_free(&h);
		errno = error;
	}
	buf_fini(&b);
	return h;
}

/* As execsrv_process_free_deferred(). */
void
execsrv_http_free_deferred(struct execsrv *x)
{
	struct execsrv_http	*h;

	while (!x->is_handling && (h = TAILQ_FIRST(&x->https.freed)) != NULL) {
		TAILQ_REMOVE(&x->https.freed, h, entry);
		while (!TAILQ_EMPTY(&h->early))
			early_free(h, TAILQ_FIRST(&h->early));
		free(h);
	}
}

void
execsrv_http_free(struct execsrv_http **hp)
{
	struct execsrv_http	*h = *hp;

	*hp = NULL;
	if (h == NULL)
		return;
	execsrv_forget(h->x, client_http_on_head, h);
	h->is_done = true;
	memset(&h->hooks, 0, sizeof(h->hooks));
	TAILQ_REMOVE(&h->x->https.live, h, entry);
	TAILQ_INSERT_TAIL(&h->x->https.freed, h, entry);
	execsrv_http_free_deferred(h->x);
}

void
execsrv_http_lost(struct execsrv *x)
{
	struct execsrv_http	*h;
	bool			 again;

	/* The hook may free any request: begin anew after each.  A request
	   that was not sent yet goes to the next connection. */
	do {
		again = false;
		TAILQ_FOREACH(h, &x->https.live, entry)
			if (!h->is_done && h->has_head) {
				client_http_fail(h, EXECSRV_WHY_LOST,
				    "the connection was lost before "
				    "the end of the body");
				again = true;
				break;
			}
	} while (again);
}

void
execsrv_http_free_all(struct execsrv *x)
{
	struct execsrv_http	*h;

	while ((h = TAILQ_FIRST(&x->https.live)) != NULL)
		execsrv_http_free(&h);
	execsrv_http_free_deferred(x);
}
